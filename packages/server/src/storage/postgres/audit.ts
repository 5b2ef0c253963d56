/** The audit log: appended to, read newest first, deleted oldest first. */
import type { AuditEntry, AuditRepeat, AuditRow, AuditStore } from '../contract/access.ts'
import type { Database, Sql } from './database.ts'

/** Rows deleted in one transaction. */
const SLICE = 1000

const COLUMNS =
  'n AS id, at, until, count, user_name AS "user", key_id, action, conversation_id, status, subject, detail'
const INSERT_SQL = `INSERT INTO audit (at, until, count, user_name, key_id, action, conversation_id, status, subject, detail)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING n`
const REPEAT_SQL = 'UPDATE audit SET until = $1, count = $2, conversation_id = $3 WHERE n = $4'

/** A page: of one user if one is given, and after a row if one is given. */
const listSql = (hasUser: boolean, hasPlace: boolean): string => {
  const terms = [...(hasUser ? ['user_name = $2'] : []), ...(hasPlace ? [`n < $${hasUser ? 3 : 2}`] : [])]
  return `SELECT ${COLUMNS} FROM audit${terms.length > 0 ? ` WHERE ${terms.join(' AND ')}` : ''} ORDER BY n DESC LIMIT $1`
}

/** Each user is one step in the index, however many rows it has. */
const USERS_SQL = `WITH RECURSIVE known (name) AS (
  (SELECT user_name FROM audit ORDER BY user_name LIMIT 1)
  UNION ALL SELECT (SELECT user_name FROM audit WHERE user_name > known.name ORDER BY user_name LIMIT 1)
  FROM known WHERE known.name IS NOT NULL
) SELECT name FROM known WHERE name IS NOT NULL`

/** Rows are numbered in the order of time, so only the lowest numbers are checked. */
const PRUNE_OLD_SQL = `DELETE FROM audit WHERE n IN (
  SELECT n FROM (SELECT n, at FROM audit ORDER BY n LIMIT ${SLICE}) oldest WHERE at < $1
)`
/** The newest row of a user that is beyond the number. */
const EXCESS_SQL = 'SELECT n FROM audit WHERE user_name = $1 ORDER BY n DESC LIMIT 1 OFFSET $2'
const PRUNE_EXCESS_SQL = `DELETE FROM audit WHERE n IN (
  SELECT n FROM audit WHERE user_name = $1 AND n <= $2 ORDER BY n LIMIT ${SLICE}
)`

export function postgresAudit(database: Database): AuditStore {
  const insert = async (sql: Sql, entry: AuditEntry): Promise<number> => {
    const { at, until, count, user, key_id, action, conversation_id, status, subject, detail } = entry
    const values = [at, until, count, user, key_id, action, conversation_id, status, subject, detail]
    return (await sql.get<{ n: number }>(INSERT_SQL, ...values))!.n
  }
  const repeat = (sql: Sql, { id, until, count, conversation_id }: AuditRepeat) =>
    sql.run(REPEAT_SQL, until, count, conversation_id, id)
  return {
    write: (entries, repeats) =>
      database.write(async (sql) => {
        for (const each of repeats) await repeat(sql, each)
        const ids: number[] = []
        for (const entry of entries) ids.push(await insert(sql, entry))
        return ids
      }),
    list: ({ user, limit, after }) =>
      database.read(async (sql) => {
        const values = [...(user === undefined ? [] : [user]), ...(after === undefined ? [] : [after])]
        const text = listSql(user !== undefined, after !== undefined)
        const rows = await sql.all<AuditRow>(text, limit + 1, ...values)
        const items = rows.slice(0, limit)
        return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
      }),
    users: () => database.read(async (sql) => (await sql.all<{ name: string }>(USERS_SQL)).map(({ name }) => name)),
    prune: ({ before, user, atMost }) =>
      database.write(async (sql) => {
        const excess = await sql.get<{ n: number }>(EXCESS_SQL, user, atMost)
        const old = await sql.run(PRUNE_OLD_SQL, before)
        return old + (excess === undefined ? 0 : await sql.run(PRUNE_EXCESS_SQL, user, excess.n))
      }),
  }
}
