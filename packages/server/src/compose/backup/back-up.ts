/**
 * A backup of a data directory, also while a server and a runner use it. Source: docs/operations.md, Backup.
 *
 * Invariants
 *   B1. The runner's records are copied before the store, and the folders that the log refers to after it (see `contents.ts`).
 *       So a call that the copies do not know has an unknown outcome, and is not executed again.
 *   B2. A backup has its name only when it is complete and on disk.
 *   B3. The sealing key is never inside of a backup.
 */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invalidInput, ParleyError } from '@parley/protocol'
import type { Config } from '../../config/index.ts'
import { expectFileStore } from '../expect-file-store.ts'
import { isInside, syncFolders, VERSION, writeDurably } from '../../lib/index.ts'
import { keyFileOf, openStoreCipher } from '../../secrets/index.ts'
import { copyStore, sealTestOf } from '../../storage/index.ts'
import { CONTENT, isCallRecord, isContent, RUNNER, STORE } from './contents.ts'
import { DATA, MANIFEST, manifestText, type Manifest } from './manifest.ts'
import { checksum, copyTree, type Copied, type Entry, type LeftOut } from './tree.ts'

export type BackupRequest = {
  /** Absolute path of the new folder. */
  target: string
  /** Absolute path of a new file for the sealing key; null: the key is not copied. */
  keyFile: string | null
  /** Also copies the working directories that the server made, and the folders of external agents. */
  withWorkspaces: boolean
}

export type BackupReport = {
  files: number
  bytes: number
  leftOut: readonly LeftOut[]
  /** The file of the sealing key, if it was not copied. */
  keyToKeep: string | null
}

/**
 * Backs up the configured data directory.
 * @throws ParleyError `conflict` for an existing target or key file, `not_found` without a store, `invalid_input`, `unavailable`
 * when the store is damaged; the system's error when the backup cannot be written. Nothing is left behind then.
 */
export async function backUp(
  { dataDir, databaseUrl, secretKey }: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey'>,
  { target, keyFile, withWorkspaces }: BackupRequest,
): Promise<BackupReport> {
  expectFileStore(
    'backup',
    databaseUrl,
    'stop the server, and back up the database with pg_dump and the data directory as files',
  )
  const secretFile = join(dataDir, 'secret-key')
  await expectUsable(dataDir, target, keyFile)
  if (keyFile !== null) expectSecretFile(secretFile, secretKey)
  const partial = await mkdtemp(`${target}.partial-`)
  let isKeyWritten = false
  try {
    const { report, manifest } = await fill(partial, dataDir, withWorkspaces)
    await syncFolder(partial, manifest.entries)
    if (keyFile !== null) {
      // Refuses a file that is not the key of the store.
      const copy = sealTestOf(join(partial, DATA, STORE))
      const current = await keyFileOf(secretFile, copy)
      await openStoreCipher(copy, { keyFile: current, replaces: false })
      await writeKey(keyFile, await readFile(current))
      isKeyWritten = true
    }
    await rename(partial, target)
    await syncFolders(dirname(target))
    const keepsKey = keyFile === null && secretKey === null && existsSync(secretFile)
    return { ...report, keyToKeep: keepsKey ? secretFile : null }
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (keyFile !== null && isKeyWritten) await rm(keyFile, { force: true })
    throw error
  }
}

async function expectUsable(dataDir: string, target: string, keyFile: string | null): Promise<void> {
  const store = join(dataDir, STORE)
  if (!existsSync(store))
    throw new ParleyError(
      'not_found',
      `there is no store ${store}; name the data directory of a server with --data-dir`,
    )
  if (existsSync(target))
    throw new ParleyError('conflict', `${target} exists already, and a backup overwrites nothing; name another folder`)
  const folder = dirname(target)
  if (!existsSync(folder))
    throw new ParleyError('not_found', `the folder ${folder} does not exist; make it, or mount its disk`)
  const [data, place] = await Promise.all([realpath(dataDir), realpath(folder)])
  if (isInside(data, join(place, basename(target))))
    throw invalidInput(`${target} is inside of the data directory; name a folder outside of it`)
  if (keyFile === null) return
  if (existsSync(keyFile))
    throw new ParleyError('conflict', `${keyFile} exists already, and a backup overwrites nothing; name another file`)
  if (isInside(target, keyFile))
    throw invalidInput(`${keyFile} is inside of the backup; keep the sealing key apart from it`)
}

function expectSecretFile(secretFile: string, secretKey: string | null): void {
  if (secretKey !== null)
    throw invalidInput(
      'the sealing key is not in the data directory: PARLEY_SECRET_KEY gives it; leave --key out, and keep a copy of that text',
    )
  if (!existsSync(secretFile))
    throw new ParleyError('not_found', `there is no sealing key ${secretFile}; leave --key out, or put the file back`)
}

/** Copies everything in the order of B1, and writes the manifest. */
async function fill(backup: string, dataDir: string, withWorkspaces: boolean) {
  const to = join(backup, DATA)
  await mkdir(to, { mode: 0o700 })
  const copied: Copied = { entries: [], leftOut: [] }
  await copyTree(dataDir, to, RUNNER, isCallRecord, copied)
  const created_at = `${new Date().toISOString().slice(0, 19)}Z`
  const schema_version = await copyStore(join(dataDir, STORE), join(to, STORE))
  copied.entries.push({ path: STORE, type: 'file', mode: 0o600, ...(await checksum(join(to, STORE))) })
  const wants = (path: string) => isContent(path, withWorkspaces)
  for (const path of CONTENT) await copyTree(dataDir, to, path, wants, copied)

  // The folder of the runner is copied twice.
  const entries = [...new Map(copied.entries.map((entry) => [entry.path, entry])).values()]
  const data_dirs = [...new Set([dataDir, await realpath(dataDir)])]
  const header = { parley_version: VERSION, schema_version, created_at, data_dirs, has_workspaces: withWorkspaces }
  const manifest: Manifest = { header, entries }
  await writeDurably(join(backup, MANIFEST), manifestText(manifest))
  const files = entries.filter((entry) => entry.type === 'file')
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return { manifest, report: { files: files.length, bytes, leftOut: copied.leftOut } }
}

/** Makes the copied store and the names of all files durable. */
async function syncFolder(backup: string, entries: readonly Entry[]): Promise<void> {
  await using store = await open(join(backup, DATA, STORE), 'r')
  await store.sync()
  for (const { path, type } of entries) if (type === 'directory') await syncFolders(join(backup, DATA, path))
  await syncFolders(join(backup, DATA), join(backup, DATA))
}

async function writeKey(path: string, key: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(key)
  await file.sync()
}
