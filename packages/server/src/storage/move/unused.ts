/** The database of a move belongs to it alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import type { Sql } from '../postgres/database.ts'
import { ALL_NODES, LEASE_CLASS } from '../postgres/liveness.ts'

/** Keeps servers from starting until the end of the transaction. */
const LOCK_SQL = `SELECT pg_try_advisory_xact_lock(${LEASE_CLASS}, ${ALL_NODES}) AS is_held`
const USED_SQL = `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LEASE_CLASS} AND granted
  AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS is_used`
/** Milliseconds until the database has noticed the end of a server that was killed. */
const WAIT_MS = 5_000
const RETRY_MS = 100

/** Locks the database for this transaction. @throws ParleyError `conflict` when a server uses it */
export async function lockUnused(sql: Sql, name: string): Promise<void> {
  const until = performance.now() + WAIT_MS
  while (!(await isHeld(sql)) || (await isUsed(sql))) {
    if (performance.now() > until) throw inUse(name)
    await sleep(RETRY_MS)
  }
}

/** @throws ParleyError `conflict` when a server has started since `lockUnused` */
export async function expectUnused(sql: Sql, name: string): Promise<void> {
  if (await isUsed(sql)) throw inUse(name)
}

const isHeld = async (sql: Sql): Promise<boolean> => (await sql.get<{ is_held: boolean }>(LOCK_SQL))?.is_held === true
const isUsed = async (sql: Sql): Promise<boolean> => (await sql.get<{ is_used: boolean }>(USED_SQL))?.is_used === true

const inUse = (name: string): ParleyError =>
  new ParleyError('conflict', `database ${name} is in use by a Parley server: stop it, and try again`, {
    details: { store: name },
  })
