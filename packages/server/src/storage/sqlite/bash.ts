/** Commands that users ran outside conversations, and their outputs. */
import type { BashEventRow, BashQuery, BashStore } from '../contract/bash.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const COLUMNS = 'id, kind, command_id, place AS "order", timestamp, json'
export const GET_BASH_SQL = `SELECT ${COLUMNS} FROM bash_events WHERE user = ? AND id = ?`
export const OPEN_BASH_SQL = `SELECT user, ${COLUMNS} FROM bash_events WHERE is_open = 1 ORDER BY n`
/** Finds the newest event beyond the bounds, from the newest event backwards. */
const PRUNE_BASH_SQL = `SELECT n FROM (
    SELECT n, row_number() OVER newest AS number, sum(bytes) OVER newest AS total
    FROM bash_events WHERE user = ?1 WINDOW newest AS (ORDER BY n DESC)
  ) WHERE number > ?2 OR total > ?3 ORDER BY n DESC LIMIT 1`

type Condition = { text: string; value: string | number }

/** One page and the item after it. Exported for the plan tests. */
export function bashPageSql(conditions: readonly string[], order: 'asc' | 'desc'): string {
  const where = ['user = ?', ...conditions].join(' AND ')
  return `SELECT ${COLUMNS} FROM bash_events WHERE ${where} ORDER BY n ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`
}

export function sqliteBash(sql: Sql, commits: GroupCommit): BashStore {
  const get = (user: string, id: string) => sql.get<BashEventRow>(GET_BASH_SQL, user, id)

  function conditionsOf(user: string, query: BashQuery): Condition[] {
    const conditions: Condition[] = []
    const when = (text: string, value: string | number | undefined) => {
      if (value !== undefined) conditions.push({ text, value })
    }
    const first =
      query.from === undefined
        ? undefined
        : sql.get<{ n: number }>('SELECT n FROM bash_events WHERE user = ? AND id = ?', user, query.from)?.n
    when('command_id = ?', query.command_id)
    when(query.order === 'asc' ? 'n >= ?' : 'n <= ?', first)
    when('kind = ?', query.kind)
    when('timestamp >= ?', query.timestampGte)
    when('timestamp < ?', query.timestampLt)
    when('(place IS NULL OR place > ?)', query.orderGt)
    return conditions
  }

  return {
    append: (user, { id, kind, command_id, order, timestamp, json }, closes = false) =>
      commits.write(() => {
        const isOpen = command_id === null && !closes
        sql.run(
          `INSERT INTO bash_events (user, id, kind, command_id, place, timestamp, is_open, bytes, json)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user, id) DO NOTHING`,
          user,
          id,
          kind,
          command_id,
          order,
          timestamp,
          isOpen ? 1 : 0,
          Buffer.byteLength(json),
          json,
        )
        if (closes && command_id !== null)
          sql.run('UPDATE bash_events SET is_open = 0 WHERE user = ? AND id = ?', user, command_id)
      }),
    get: (user, id) =>
      commits.read(() => {
        const row = get(user, id)
        return row === undefined ? null : { ...row }
      }),
    search: (user, query) =>
      commits.read(() => {
        const conditions = conditionsOf(user, query)
        const text = bashPageSql(
          conditions.map((condition) => condition.text),
          query.order,
        )
        const values = conditions.map(({ value }) => value)
        const items = sql.all<BashEventRow>(text, user, ...values, query.limit + 1).map((row) => ({ ...row }))
        const beyond = items.length > query.limit ? items.pop() : undefined
        return { items, next: beyond?.id ?? null }
      }),
    clear: (user) => commits.write(() => sql.run('DELETE FROM bash_events WHERE user = ?', user)),
    prune: (user, { atMost, maxBytes }) =>
      commits.write(() => {
        const last = sql.get<{ n: number }>(PRUNE_BASH_SQL, user, atMost, maxBytes)?.n
        if (last === undefined) return 0
        return sql.run('DELETE FROM bash_events WHERE user = ? AND n <= ? AND is_open = 0', user, last)
      }),
    open: () =>
      commits.read(() =>
        sql.all<BashEventRow & { user: string }>(OPEN_BASH_SQL).map(({ user, ...event }) => ({ user, event })),
      ),
  }
}
