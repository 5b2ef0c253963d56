/** The generated key of a data directory, used when no key is configured. */
import { ParleyError } from '@parley/protocol'
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { writeDurably } from '../lib/index.ts'
import { dirname } from 'node:path'

const KEY_TEXT = /^[A-Za-z0-9_-]{43}$/

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/**
 * Returns the text of the key file and creates it, with mode 0600, when it is missing. Processes that do so at once get the same key:
 * a complete file is linked into place, and the first link wins.
 * @param mayCreate false: a missing file is refused
 * @throws ParleyError `unavailable` when the file contains no key, or may not be created: a new key could not decrypt what is sealed.
 */
export async function readOrMakeKeyFile(path: string, mayCreate: boolean): Promise<string> {
  const existing = await readKey(path)
  if (existing !== null) return existing
  if (!mayCreate)
    throw new ParleyError(
      'unavailable',
      `the key file ${path} is missing, but the store contains values that were sealed with it: put it back from a backup, or ` +
        'set PARLEY_SECRET_KEY to the key of the store, as for every further server on one database. If the key is lost, start once with PARLEY_REPLACE_SECRET_KEY=true: ' +
        'values sealed with it cannot be read any more',
    )
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(8).toString('hex')}.tmp`
  try {
    await writeNew(draft, newKeyText())
    await link(draft, path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
    await syncDirectory(dirname(path))
  } finally {
    await rm(draft, { force: true })
  }
  const made = await readKey(path)
  if (made === null)
    throw new ParleyError('unavailable', `the key file ${path} was removed while it was made; start again`)
  return made
}

/** Beside a key file: the key that is to replace it, until the store is sealed with that. */
export const nextKeyFile = (path: string): string => `${path}.next`

/** Writes a new key beside the key file and returns its path. */
export async function makeNextKeyFile(path: string): Promise<string> {
  const next = nextKeyFile(path)
  await writeDurably(next, newKeyText())
  return next
}

/** The texts of a key file and of the one that is to replace it, without those that are missing or unreadable. */
export async function textsOfKeyFiles(path: string): Promise<string[]> {
  const texts = await Promise.all([path, nextKeyFile(path)].map((file) => readKey(file).catch(() => null)))
  return texts.filter((text) => text !== null)
}

const newKeyText = (): string => `${randomBytes(32).toString('base64url')}\n`

async function readKey(path: string): Promise<string | null> {
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw new ParleyError('unavailable', `the key file ${path} cannot be read: check its owner and mode`, {
      cause: error,
    })
  }
  if (KEY_TEXT.test(text)) return text
  throw new ParleyError(
    'unavailable',
    `the key file ${path} holds no key: put it back from a backup, or remove it and store all secrets again`,
  )
}

async function writeNew(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(text)
  await file.sync()
}

/** Makes a new directory entry durable; Windows has no such call and needs none. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using directory = await open(path, 'r')
  await directory.sync()
}
