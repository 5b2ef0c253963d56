/**
 * Moves the store of a data directory into a PostgreSQL database, and back. Source: docs/operations.md, Moving a store.
 *
 * Invariants
 *   V1. The store is in one place: after a move, no server finds the former one. It is kept under another name.
 *   V2. Nothing is moved without the key that the store is sealed with.
 *   V3. The other files of the data directory stay where they are; they belong to the store in both places.
 */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidInput, ParleyError } from '@parley/protocol'
import type { Config } from '../config/index.ts'
import { syncFolders } from '../lib/index.ts'
import { openStoreCipher, SEALED_PREFIX, settleKeyFile } from '../secrets/index.ts'
import {
  lockDataDir,
  moveToPostgres,
  moveToSqlite,
  placeIdOf,
  sealTestOf,
  type MoveReport,
  type MoveStep,
  type SealTestStore,
} from '../storage/index.ts'
import { STORE } from './backup/contents.ts'

type MoveConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'secretKey'>

/** `kept`: the file of the store from now on. */
export type ExportReport = MoveReport & { kept: string }
/** `kept`: the schema of the database that has the store from now on. */
export type ImportReport = MoveReport & { kept: string }

/** The file that is being written. */
const PARTIAL = `${STORE}.partial`

/**
 * Moves the store of the data directory into the database, which must be empty.
 * @throws ParleyError `not_found` without a store, `conflict` when a server uses one of them or the database is not empty, `invalid_input`
 * without a database, `unavailable` for another key. The store is where it was then.
 */
export async function exportStore(config: MoveConfig, progress: (step: MoveStep) => void): Promise<ExportReport> {
  const { dataDir } = config
  const url = urlOf(config)
  const store = join(dataDir, STORE)
  if (!existsSync(store))
    throw new ParleyError(
      'not_found',
      `there is no store ${store}; name the data directory of a server with --data-dir`,
    )
  await using _lock = await lockDataDir(dataDir)
  await expectKey(config, sealTestOf(store))
  const report = await moveToPostgres({ path: store, url, place: await placeIdOf(dataDir), progress })
  const kept = `${store}.exported-${timeName('-')}`
  await rename(store, kept)
  await syncFolders(dataDir, dataDir)
  return { ...report, kept }
}

/**
 * Moves the store of the database into the data directory, which must have none.
 * @throws ParleyError `not_found` when the database has no store, `conflict` when a server uses one of them or the directory has a store,
 * `invalid_input` without a database, `unavailable` for another key. The store is where it was then.
 */
export async function importStore(config: MoveConfig, progress: (step: MoveStep) => void): Promise<ImportReport> {
  const { dataDir } = config
  const url = urlOf(config)
  const store = join(dataDir, STORE)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await using _lock = await lockDataDir(dataDir)
  if (existsSync(store))
    throw new ParleyError(
      'conflict',
      `${dataDir} has a store already: ${store}; move that file away, or name another directory with --data-dir`,
    )
  const path = join(dataDir, PARTIAL)
  const kept = `parley_imported_${timeName('_')}`
  await removeStore(path)
  try {
    const report = await moveToSqlite({
      url,
      path,
      place: await placeIdOf(dataDir),
      schema: kept,
      expectKey: (test) => expectKey(config, test),
      progress,
      complete: async () => {
        await rename(path, store)
        await syncFolders(dataDir, dataDir)
      },
    })
    return { ...report, kept }
  } finally {
    await removeStore(path)
  }
}

function urlOf({ databaseUrl }: MoveConfig): string {
  if (databaseUrl !== null) return databaseUrl
  throw invalidInput('no database is named: give its address as an argument or with PARLEY_DATABASE_URL')
}

/** @throws ParleyError `unavailable` when the store is sealed with another key than the configured one, or that is missing */
async function expectKey({ dataDir, secretKey }: MoveConfig, test: SealTestStore): Promise<void> {
  const keyFile = join(dataDir, 'secret-key')
  if ((await test.get()) === null && (await test.samples(SEALED_PREFIX)).length === 0) return
  await settleKeyFile(keyFile, test)
  // Nothing is written: the value is stored by the next start if it is missing.
  const read: SealTestStore = { ...test, add: async (first) => first, put: async () => undefined }
  await openStoreCipher(read, { ...(secretKey === null ? {} : { keyText: secretKey }), keyFile, replaces: false })
}

/** With the side files of SQLite. */
async function removeStore(path: string): Promise<void> {
  for (const end of ['', '-journal', '-wal', '-shm']) await rm(path + end, { force: true })
}

/** The time as part of a name, such as 20261124-094118. */
const timeName = (separator: string): string =>
  new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', separator)
