/** Commands that users ran outside conversations, and their outputs. The open ones are those of one place. */
import type { BashEventRow, BashQuery, BashStore } from '../contract/bash.ts'
import type { PlaceId } from '../contract/nodes.ts'
import type { Database, Sql, SqlValue } from './database.ts'

const COLUMNS = 'id, kind, command_id, place AS "order", timestamp, json'
const GET_SQL = `SELECT ${COLUMNS} FROM bash_events WHERE user_name = $1 AND id = $2`
const OPEN_SQL = `SELECT user_name AS "user", ${COLUMNS} FROM bash_events WHERE is_open AND place_id = $1 ORDER BY n`
const INSERT_SQL = `INSERT INTO bash_events (user_name, id, kind, command_id, place, timestamp, is_open, bytes, json, place_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (user_name, id) DO NOTHING`
/** Finds the newest event beyond the bounds, from the newest event backwards. */
const PRUNE_SQL = `SELECT n FROM (
    SELECT n, row_number() OVER newest AS number, sum(bytes) OVER newest AS total
    FROM bash_events WHERE user_name = $1 WINDOW newest AS (ORDER BY n DESC)
  ) counted WHERE number > $2 OR total > $3 ORDER BY n DESC LIMIT 1`

/** The conditions of a page, and their values after the user and the limit. */
async function conditionsOf(sql: Sql, user: string, query: BashQuery) {
  const terms: string[] = []
  const values: SqlValue[] = []
  const when = (term: (place: string) => string, value: string | number | undefined) => {
    if (value === undefined) return
    values.push(value)
    terms.push(` AND ${term(`$${values.length + 2}`)}`)
  }
  const first =
    query.from === undefined
      ? undefined
      : (await sql.get<{ n: number }>('SELECT n FROM bash_events WHERE user_name = $1 AND id = $2', user, query.from))
          ?.n
  when((value) => `command_id = ${value}`, query.command_id)
  when((value) => `n ${query.order === 'asc' ? '>=' : '<='} ${value}`, first)
  when((value) => `kind = ${value}`, query.kind)
  when((value) => `timestamp >= ${value}`, query.timestampGte)
  when((value) => `timestamp < ${value}`, query.timestampLt)
  when((value) => `(place IS NULL OR place > ${value})`, query.orderGt)
  return { where: terms.join(''), values }
}

export function postgresBash(database: Database, placeId: PlaceId): BashStore {
  return {
    append: (user, { id, kind, command_id, order, timestamp, json }, closes = false) =>
      database.write(async (sql) => {
        const isOpen = command_id === null && !closes
        const bytes = Buffer.byteLength(json)
        await sql.run(INSERT_SQL, user, id, kind, command_id, order, timestamp, isOpen, bytes, json, placeId)
        if (closes && command_id !== null)
          await sql.run('UPDATE bash_events SET is_open = false WHERE user_name = $1 AND id = $2', user, command_id)
      }),
    get: (user, id) => database.read(async (sql) => (await sql.get<BashEventRow>(GET_SQL, user, id)) ?? null),
    search: (user, query) =>
      database.read(async (sql) => {
        const { where, values } = await conditionsOf(sql, user, query)
        const order = query.order === 'asc' ? 'ASC' : 'DESC'
        const text = `SELECT ${COLUMNS} FROM bash_events WHERE user_name = $1${where} ORDER BY n ${order} LIMIT $2`
        const items = await sql.all<BashEventRow>(text, user, query.limit + 1, ...values)
        const beyond = items.length > query.limit ? items.pop() : undefined
        return { items, next: beyond?.id ?? null }
      }),
    clear: (user) => database.write((sql) => sql.run('DELETE FROM bash_events WHERE user_name = $1', user)),
    prune: (user, { atMost, maxBytes }) =>
      database.write(async (sql) => {
        const last = (await sql.get<{ n: number }>(PRUNE_SQL, user, atMost, maxBytes))?.n
        if (last === undefined) return 0
        return sql.run('DELETE FROM bash_events WHERE user_name = $1 AND n <= $2 AND NOT is_open', user, last)
      }),
    open: () =>
      database.read(async (sql) => {
        const rows = await sql.all<BashEventRow & { user: string }>(OPEN_SQL, placeId)
        return rows.map(({ user, ...event }) => ({ user, event }))
      }),
  }
}
