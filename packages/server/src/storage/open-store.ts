/** Opens the configured store. The part for PostgreSQL is loaded only when a database is configured. */
import type { PlaceId } from './contract/nodes.ts'
import type { MoveReport } from './move/progress.ts'
import type { ToPostgres } from './move/to-postgres.ts'
import type { ToSqlite } from './move/to-sqlite.ts'
import type { DatabaseFacts, DatabaseFinding } from './postgres/probe.ts'
import { openSqlite } from './sqlite/open.ts'
import type { Storage } from './storage.ts'

export type StoreAddress = {
  /** File of the SQLite store. */
  path: string
  /** Address of a PostgreSQL database, which is used instead of the file; null: none. */
  databaseUrl: string | null
  /** Address of the same database without a pooler, for the sessions of a node; default: `databaseUrl`. */
  sessionUrl?: string | null
  /** The data directory that this process works with; default: none, for a command that needs no directory. */
  place?: PlaceId | null
}

/** @throws ParleyError `unavailable` with the remedy. */
export async function openStore({ path, databaseUrl, ...options }: StoreAddress): Promise<Storage> {
  if (databaseUrl === null) return openSqlite({ path })
  return (await import('./postgres/open.ts')).openPostgres({ url: databaseUrl, ...options })
}

/** What a start needs of a database besides its version. @throws ParleyError `unavailable` with the remedy. */
export async function examineDatabase(url: string): Promise<DatabaseFinding[]> {
  return (await import('./postgres/probe.ts')).examineDatabase(url)
}

/** Version and users of a database, which is not changed. @throws ParleyError `unavailable` with the remedy. */
export async function probeDatabase(url: string): Promise<DatabaseFacts> {
  return (await import('./postgres/probe.ts')).probeDatabase(url)
}

/** Copies a SQLite store into an empty database. @throws ParleyError `not_found`, `conflict`, `unavailable`, with the remedy */
export async function moveToPostgres(request: ToPostgres): Promise<MoveReport> {
  return (await import('./move/to-postgres.ts')).moveToPostgres(request)
}

/** Copies the store of a database into a new SQLite file. @throws ParleyError `not_found`, `conflict`, `unavailable`, with the remedy */
export async function moveToSqlite(request: ToSqlite): Promise<MoveReport> {
  return (await import('./move/to-sqlite.ts')).moveToSqlite(request)
}
