/** Requests that carried an `Idempotency-Key`: numbered in the order of their beginning, deleted oldest first. */
import type { IdempotencyStore, KeyedRequest } from '../contract/idempotency.ts'
import type { Database } from './database.ts'

/** Rows deleted in one transaction. */
const SLICE = 1000

const GET_SQL = 'SELECT digest, state, sealed FROM keyed_requests WHERE user_name = $1 AND key = $2 AND begun_at >= $3'
const REMOVE_OLD_SQL = 'DELETE FROM keyed_requests WHERE user_name = $1 AND key = $2 AND begun_at < $3'
const BEGIN_SQL = `INSERT INTO keyed_requests (user_name, key, digest, begun_at, state) VALUES ($1, $2, $3, $4, 'begun')
  ON CONFLICT (user_name, key) DO NOTHING`
const ANSWERED_SQL = `UPDATE keyed_requests SET state = 'answered', sealed = $1, bytes = $2 WHERE user_name = $3 AND key = $4`
const FORGET_SQL = 'DELETE FROM keyed_requests WHERE user_name = $1 AND key = $2'
/** Finds the newest request beyond the bounds, from the newest request backwards. */
const EXCESS_SQL = `SELECT n FROM (
    SELECT n, row_number() OVER newest AS number, sum(bytes) OVER newest AS total
    FROM keyed_requests WHERE user_name = $1 WINDOW newest AS (ORDER BY n DESC)
  ) counted WHERE number > $2 OR total > $3 ORDER BY n DESC LIMIT 1`
/** Rows are numbered in the order of time, so only the lowest numbers are checked. */
const EXPIRE_SQL = `DELETE FROM keyed_requests WHERE n IN (
  SELECT n FROM (SELECT n, begun_at FROM keyed_requests ORDER BY n LIMIT ${SLICE}) oldest WHERE begun_at < $1
)`

export function postgresIdempotency(database: Database): IdempotencyStore {
  return {
    get: (user, key, since) =>
      database.read(async (sql) => (await sql.get<KeyedRequest>(GET_SQL, user, key, since)) ?? null),
    begin: (user, key, { digest, at, since }) =>
      database.write(async (sql) => {
        await sql.run(REMOVE_OLD_SQL, user, key, since)
        return (await sql.run(BEGIN_SQL, user, key, digest, at)) === 1
      }),
    answered: (user, key, sealed) =>
      database.write(async (sql) => {
        await sql.run(ANSWERED_SQL, sealed, sealed === null ? 0 : Buffer.byteLength(sealed), user, key)
      }),
    forget: (user, key) => database.write(async (sql) => void (await sql.run(FORGET_SQL, user, key))),
    prune: (user, { atMost, maxBytes }) =>
      database.write(async (sql) => {
        const last = (await sql.get<{ n: number }>(EXCESS_SQL, user, atMost, maxBytes))?.n
        if (last === undefined) return 0
        return sql.run('DELETE FROM keyed_requests WHERE user_name = $1 AND n <= $2', user, last)
      }),
    expire: (before) => database.write((sql) => sql.run(EXPIRE_SQL, before)),
  }
}
