/**
 * The store of the servers of tests. `PARLEY_TEST_STORE=postgres` gives each data directory a database of its own, so that tests of other
 * parts run on that store too; otherwise each one has its SQLite file. `PARLEY_TEST_NODES=3` makes each server three nodes on that database (see
 * `balanced-nodes.ts`).
 */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openStore } from '../src/storage/open-store.ts'
import type { Storage } from '../src/storage/index.ts'
import type { TestDatabase } from './postgres.ts'

const isPostgres = process.env['PARLEY_TEST_STORE'] === 'postgres'
/** True when data directories have a SQLite file. */
export const hasFileStore = !isPostgres
/** Nodes of a server that does not choose its store itself. */
const nodes = isPostgres ? Number(process.env['PARLEY_TEST_NODES'] ?? 1) : 1
/** False when the next request of a test reaches another node than the last one. */
export const isOneNode = nodes === 1
/** Seals what nodes share. A passphrase would take each start a second. */
export const NODES_SECRET_KEY = createHash('sha256').update('nodes').digest('hex')
/** By data directory. */
const databases = new Map<string, Promise<TestDatabase>>()

/** The directory may not exist yet, but its folder does. */
const keyOf = (dataDir: string): string => join(realpathSync(dirname(dataDir)), dataDir.slice(dirname(dataDir).length))

/** The database of a data directory; null: it has a SQLite file. */
export async function databaseOf(dataDir: string): Promise<TestDatabase | null> {
  if (!isPostgres) return null
  const key = keyOf(dataDir)
  const { testDatabase } = await import('./postgres.ts')
  const database = databases.get(key) ?? testDatabase()
  databases.set(key, database)
  return database
}

/** Address of the database of a data directory; null: it has a SQLite file. */
export const chosenDatabase = async (dataDir: string): Promise<string | null> =>
  (await databaseOf(dataDir))?.url ?? null

/** Settings for a server on a data directory. `env`: its other settings; they may choose a store themselves. */
export async function storeSettings(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  if (choosesStore(env)) return {}
  const url = await chosenDatabase(dataDir)
  if (url === null) return {}
  return { PARLEY_DATABASE_URL: url, ...(nodes > 1 && { PARLEY_SECRET_KEY: NODES_SECRET_KEY }) }
}

const choosesStore = (env: Readonly<Record<string, string>>): boolean =>
  'PARLEY_DATABASE_URL' in env || env['PARLEY_EPHEMERAL'] === 'true'

/** The data directories of the nodes of a server; one, unless `PARLEY_TEST_NODES` says otherwise. `env`: as of `storeSettings`. */
export function nodeDirs(dataDir: string, env: Readonly<Record<string, string>> = {}): string[] {
  const count = choosesStore(env) ? 1 : nodes
  return Array.from({ length: count }, (_, at) => (at === 0 ? dataDir : `${dataDir}-${at + 1}`))
}

/** The store of a data directory. */
export async function openChosenStore(dataDir: string): Promise<Storage> {
  return openStore({ path: join(dataDir, 'parley.db'), databaseUrl: await chosenDatabase(dataDir) })
}

/** Removes the databases of the data directories below a folder, which no server uses any more. */
export async function releaseStores(folder: string): Promise<void> {
  if (!isPostgres) return
  for (const [dataDir, database] of databases) {
    if (!dataDir.startsWith(`${folder}/`)) continue
    databases.delete(dataDir)
    await (await database)[Symbol.asyncDispose]()
  }
}
