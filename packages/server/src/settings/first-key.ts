/** The key that the first start creates, readable for the owner of the data directory. Source: decisions.md, Identity. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_USER, type Identities } from './identity.ts'

const fileIn = (dataDir: string): string => join(dataDir, 'first-key')

/** The key, and the file that contains it. */
export type FirstKey = { key: string; path: string }

/** Creates an administrator's key for the default user and writes it to a file that the command line of this machine reads. */
export async function makeFirstKey(dataDir: string, identities: Pick<Identities, 'create'>): Promise<FirstKey> {
  const { key } = await identities.create({ user: DEFAULT_USER, role: 'admin', label: 'first key', expiresAt: null })
  await writeFile(fileIn(dataDir), `${key}\n`, { mode: 0o600 })
  return { key, path: fileIn(dataDir) }
}

/** The key that the first start created; null after its removal. */
export async function readFirstKey(dataDir: string): Promise<string | null> {
  try {
    return (await readFile(fileIn(dataDir), 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
