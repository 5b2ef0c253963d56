/**
 * Restores a backup into an empty data directory. Source: docs/operations.md, Restoring a backup.
 *
 * Invariants
 *   R1. Manifest, checksums and sealing key are verified before anything is written.
 *   R2. All or nothing: the content is put into place after it is complete, and until then no server starts on the directory.
 *   R3. The mark that ties a data directory to its store is not part of a backup. So the first start finds another mark, and
 *       every open call that no record names is unknown (see `workspace/call-proof.ts`).
 *   R4. What was running in the backup is paused by the first process that loads it.
 */
import { chmod, mkdir, readdir, readFile, realpath, rename, rm, rmdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput, ParleyError } from '@parley/protocol'
import type { Config } from '../../config/index.ts'
import { syncFolders, writeDurably } from '../../lib/index.ts'
import { openStoreCipher, SEALED_PREFIX } from '../../secrets/index.ts'
import { lockDataDir, openSqlite, RESTORING, SCHEMA_VERSION, sealTestOf } from '../../storage/index.ts'
import { expectFileStore } from '../expect-file-store.ts'
import { STORE } from './contents.ts'
import { damaged, DATA, readManifest, verifyFiles, type Header } from './manifest.ts'
import { movedRecord } from './moved-record.ts'
import { copyFile, type Entry } from './tree.ts'

export type RestoreRequest = {
  /** Absolute path of the backup. */
  source: string
  /** Absolute path of the file with the sealing key; null: the configuration gives it. */
  keyFile: string | null
}

export type RestoreReport = {
  files: number
  /** Time of the backup. ISO 8601. */
  created_at: string
  /** Number of conversations that are paused. */
  paused: number
  hasWorkspaces: boolean
}

/** What an empty data directory may contain: the lock of a start or restore that was refused, and a folder of the file system. */
const EMPTY = new Set(['server.lock', 'server.lock-journal', 'server.json', 'lost+found'])

/**
 * Restores a backup into the configured data directory.
 * @throws ParleyError `conflict` when the directory is not empty or in use, `not_found` when `source` is no backup, `invalid_input`
 * when the backup is damaged or its key is not given, `unavailable` for another key; the system's error when it cannot be written.
 */
export async function restore(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey' | 'replaceSecretKey'>,
  { source, keyFile }: RestoreRequest,
): Promise<RestoreReport> {
  const { dataDir } = config
  expectFileStore('restore', config.databaseUrl, 'unset it to restore this backup')
  await expectEmpty(dataDir)
  const { header, entries } = await readManifest(source)
  if (header.schema_version > SCHEMA_VERSION)
    throw invalidInput(
      `the backup ${source} has schema ${header.schema_version}, this Parley knows up to ${SCHEMA_VERSION}: restore it with Parley ${header.parley_version}`,
    )
  await verifyFiles(source, entries)
  const key = await keyOf(join(source, DATA, STORE), config, keyFile)

  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await using _lock = await lockDataDir(dataDir)
  await expectEmpty(dataDir)
  const staged = join(dataDir, RESTORING)
  await mkdir(staged, { mode: 0o700 })
  let paused: number
  try {
    await copyEntries(source, staged, entries)
    if (key !== null) await writeDurably(join(staged, 'secret-key'), key)
    paused = await prepareStore(join(staged, STORE), header, dataDir)
  } catch (error) {
    await rm(staged, { recursive: true, force: true })
    throw error
  }
  await putIntoPlace(staged, dataDir)
  const files = entries.filter(({ type }) => type === 'file').length
  return { files, created_at: header.created_at, paused, hasWorkspaces: header.has_workspaces }
}

async function expectEmpty(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const found = names.find((name) => !EMPTY.has(name))
  if (found === undefined) return
  const message = `the data directory ${dataDir} is not empty: it contains ${found}; name a new directory with --data-dir, or empty this one`
  throw new ParleyError('conflict', message, { details: { data_dir: dataDir } })
}

/**
 * The content of the key file for the restored directory; null when there is none to write.
 * @throws ParleyError when the store contains sealed values, and no key or another one is given
 */
async function keyOf(
  store: string,
  { secretKey, replaceSecretKey }: Pick<Config, 'secretKey' | 'replaceSecretKey'>,
  keyFile: string | null,
): Promise<string | null> {
  if (keyFile !== null && secretKey !== null)
    throw invalidInput('--key and PARLEY_SECRET_KEY both give a sealing key; leave one of them out')
  const text = keyFile === null ? null : await readKeyFile(keyFile)
  const test = sealTestOf(store)
  const isSealed = (await test.get()) !== null || (await test.samples(SEALED_PREFIX)).length > 0
  if (isSealed && !replaceSecretKey) {
    if (keyFile === null && secretKey === null)
      throw invalidInput(
        'the backup contains sealed values: give their key with --key FILE, or with PARLEY_SECRET_KEY if the server was used with that. ' +
          'If the key is lost, set PARLEY_REPLACE_SECRET_KEY=true for the restore and for the first start',
      )
    const given = secretKey === null ? {} : { keyText: secretKey }
    await openStoreCipher(test, { ...given, keyFile: keyFile ?? '', replaces: false })
  }
  return text
}

async function readKeyFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new ParleyError('not_found', `there is no key file ${path}; name the file that parley backup --key has made`)
  })
}

/** Links come last, so that no file is written through one. */
async function copyEntries(backup: string, to: string, entries: readonly Entry[]): Promise<void> {
  const directories = entries.filter((entry) => entry.type === 'directory')
  for (const { path } of directories) await mkdir(join(to, path), { recursive: true, mode: 0o700 })
  const from = await realpath(join(backup, DATA))
  for (const entry of entries) {
    if (entry.type !== 'file') continue
    const file = await copyFile(join(from, entry.path), join(to, entry.path))
    if (file?.sha256 !== entry.sha256) throw damaged(backup, `${entry.path} was changed during the restore`)
    await chmod(join(to, entry.path), entry.mode)
  }
  for (const entry of entries) if (entry.type === 'link') await symlink(entry.target, join(to, entry.path))
  // From the bottom up, because a folder may be read-only.
  for (const { path, mode } of directories.toReversed()) {
    await syncFolders(join(to, path))
    await chmod(join(to, path), mode)
  }
}

/** Migrates the store, marks what was running, and moves the paths of its records. Returns the number of marked conversations. */
async function prepareStore(path: string, { created_at, data_dirs }: Header, dataDir: string): Promise<number> {
  await using storage = await openSqlite({ path })
  const isMoved = !data_dirs.includes(dataDir)
  if (isMoved) await storage.conversations.changeRecords((record) => movedRecord(record, data_dirs, dataDir))
  return storage.conversations.markRestored(created_at)
}

/** Renames the content to its place, the store last. While the folder `staged` exists, no server starts (R2). */
async function putIntoPlace(staged: string, dataDir: string): Promise<void> {
  await syncFolders(staged)
  const names = (await readdir(staged)).filter((name) => name !== STORE)
  for (const name of [...names, STORE]) await rename(join(staged, name), join(dataDir, name))
  await rmdir(staged)
  await syncFolders(dataDir, dataDir)
}
