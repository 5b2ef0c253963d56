/** Requests that carried an `Idempotency-Key`: numbered in the order of their beginning, deleted oldest first. */
import type { IdempotencyStore, KeyedRequest } from '../contract/idempotency.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Rows deleted in one transaction. */
const SLICE = 1000

export const GET_KEYED_SQL =
  'SELECT digest, state, sealed FROM keyed_requests WHERE user = ? AND key = ? AND begun_at >= ?'
/** Finds the newest request beyond the bounds, from the newest request backwards. */
export const PRUNE_KEYED_SQL = `SELECT n FROM (
    SELECT n, row_number() OVER newest AS number, sum(bytes) OVER newest AS total
    FROM keyed_requests WHERE user = ?1 WINDOW newest AS (ORDER BY n DESC)
  ) WHERE number > ?2 OR total > ?3 ORDER BY n DESC LIMIT 1`
/** Rows are numbered in the order of time, so only the lowest numbers are checked. */
const EXPIRE_KEYED_SQL = `DELETE FROM keyed_requests WHERE n IN (
  SELECT n FROM (SELECT n, begun_at FROM keyed_requests ORDER BY n LIMIT ${SLICE}) WHERE begun_at < ?
)`

export function sqliteIdempotency(sql: Sql, commits: GroupCommit): IdempotencyStore {
  return {
    get: (user, key, since) =>
      commits.read(() => {
        const row = sql.get<KeyedRequest>(GET_KEYED_SQL, user, key, since)
        return row === undefined ? null : { ...row }
      }),
    begin: (user, key, { digest, at, since }) =>
      commits.write(() => {
        sql.run('DELETE FROM keyed_requests WHERE user = ? AND key = ? AND begun_at < ?', user, key, since)
        const inserted = sql.run(
          `INSERT INTO keyed_requests (user, key, digest, begun_at, state) VALUES (?, ?, ?, ?, 'begun')
           ON CONFLICT (user, key) DO NOTHING`,
          user,
          key,
          digest,
          at,
        )
        return inserted === 1
      }),
    answered: (user, key, sealed) =>
      commits.write(() => {
        sql.run(
          `UPDATE keyed_requests SET state = 'answered', sealed = ?, bytes = ? WHERE user = ? AND key = ?`,
          sealed,
          sealed === null ? 0 : Buffer.byteLength(sealed),
          user,
          key,
        )
      }),
    forget: (user, key) =>
      commits.write(() => void sql.run('DELETE FROM keyed_requests WHERE user = ? AND key = ?', user, key)),
    prune: (user, { atMost, maxBytes }) =>
      commits.write(() => {
        const last = sql.get<{ n: number }>(PRUNE_KEYED_SQL, user, atMost, maxBytes)?.n
        return last === undefined ? 0 : sql.run('DELETE FROM keyed_requests WHERE user = ? AND n <= ?', user, last)
      }),
    expire: (before) => commits.write(() => sql.run(EXPIRE_KEYED_SQL, before)),
  }
}
