/** Advisory locks of transactions, for what no row can be locked: rows that do not exist yet, and orders that several rows make up. */
import { createHash } from 'node:crypto'
import type { Sql } from './database.ts'

/** The first key of each kind of lock; the second one is a digest of what is locked. */
const KINDS = {
  lane: 0x50524c31,
  received: 0x50524c32,
  user: 0x50524c33,
  users: 0x50524c34,
  targets: 0x50524c35,
} as const

const LOCK_SQL = 'SELECT pg_advisory_xact_lock($1, $2)'

/**
 * Locks things until the end of the transaction, in an order that all transactions share. Two things with one digest share a lock.
 *
 * `lane`: the deliveries of a conversation. `received`: a conversation of another server. `user`: settings and documents of a user.
 * `users`: the list of users. `targets`: the list of webhook targets.
 */
export async function lock(sql: Sql, kind: keyof typeof KINDS, names: readonly string[]): Promise<void> {
  const keys = new Set(names.map((name) => createHash('sha256').update(name).digest().readInt32BE()))
  for (const key of [...keys].toSorted((a, b) => a - b)) await sql.run(LOCK_SQL, KINDS[kind], key)
}
