/** The audit log: appended to, read newest first, deleted oldest first. */
import type { AuditEntry, AuditRepeat, AuditRow, AuditStore } from '../contract/access.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Rows deleted in one transaction. */
const SLICE = 1000

const COLUMNS = 'n AS id, at, until, count, user, key_id, action, conversation_id, status, subject, detail'
const INSERT_SQL = `INSERT INTO audit (at, until, count, user, key_id, action, conversation_id, status, subject, detail)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`
const REPEAT_SQL = 'UPDATE audit SET until = ?, count = ?, conversation_id = ? WHERE n = ?'

/** A page, starting after a row if one is given. */
export const listAuditSql = (hasUser: boolean, hasPlace: boolean): string => {
  const terms = [...(hasUser ? ['user = ?'] : []), ...(hasPlace ? ['n < ?'] : [])]
  return `SELECT ${COLUMNS} FROM audit${terms.length > 0 ? ` WHERE ${terms.join(' AND ')}` : ''} ORDER BY n DESC LIMIT ?`
}

/** Each user is one step in the index, however many rows it has. */
const AUDIT_USERS_SQL = `WITH RECURSIVE known (user) AS (
  SELECT min(user) FROM audit
  UNION ALL SELECT (SELECT min(user) FROM audit WHERE user > known.user) FROM known WHERE known.user IS NOT NULL
) SELECT user FROM known WHERE user IS NOT NULL`

/** Rows are numbered in the order of time, so only the lowest numbers are checked. */
const PRUNE_OLD_SQL = `DELETE FROM audit WHERE n IN (
  SELECT n FROM (SELECT n, at FROM audit ORDER BY n LIMIT ${SLICE}) WHERE at < ?
)`
/** The newest row of a user that is beyond the number. */
export const AUDIT_EXCESS_SQL = 'SELECT n FROM audit WHERE user = ? ORDER BY n DESC LIMIT 1 OFFSET ?'
const PRUNE_EXCESS_SQL = `DELETE FROM audit WHERE n IN (
  SELECT n FROM audit WHERE user = ? AND n <= ? ORDER BY n LIMIT ${SLICE}
)`

export function sqliteAudit(sql: Sql, commits: GroupCommit): AuditStore {
  const insert = (entry: AuditEntry): number => {
    const { at, until, count, user, key_id, action, conversation_id, status, subject, detail } = entry
    const row = sql.get<{ n: number }>(
      INSERT_SQL,
      at,
      until,
      count,
      user,
      key_id,
      action,
      conversation_id,
      status,
      subject,
      detail,
    )
    return row!.n
  }
  const repeat = ({ id, until, count, conversation_id }: AuditRepeat) =>
    sql.run(REPEAT_SQL, until, count, conversation_id, id)
  return {
    write: (entries, repeats) =>
      commits.write(() => {
        repeats.forEach(repeat)
        return entries.map(insert)
      }),
    list: ({ user, limit, after }) =>
      commits.read(() => {
        const text = listAuditSql(user !== undefined, after !== undefined)
        const values = [...(user === undefined ? [] : [user]), ...(after === undefined ? [] : [after])]
        const rows = sql.all<AuditRow>(text, ...values, limit + 1).map((row) => ({ ...row }))
        const items = rows.slice(0, limit)
        return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
      }),
    users: () => commits.read(() => sql.all<{ user: string }>(AUDIT_USERS_SQL).map(({ user }) => user)),
    prune: ({ before, user, atMost }) =>
      commits.write(() => {
        const excess = sql.get<{ n: number }>(AUDIT_EXCESS_SQL, user, atMost)
        const old = sql.run(PRUNE_OLD_SQL, before)
        return old + (excess === undefined ? 0 : sql.run(PRUNE_EXCESS_SQL, user, excess.n))
      }),
  }
}
