/** The audit log: appended to, read newest first, deleted oldest first. */
import type { AuditEntry, AuditRow, AuditStore } from '../contract/access.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Rows deleted in one transaction. */
const SLICE = 1000

const COLUMNS = 'n AS id, at, user, key_id, action, conversation_id, status'

/** A page, starting after a row if one is given. */
export const listAuditSql = (hasUser: boolean, hasPlace: boolean): string => {
  const terms = [...(hasUser ? ['user = ?'] : []), ...(hasPlace ? ['n < ?'] : [])]
  return `SELECT ${COLUMNS} FROM audit${terms.length > 0 ? ` WHERE ${terms.join(' AND ')}` : ''} ORDER BY n DESC LIMIT ?`
}

/** Rows are numbered in the order of time, so only the lowest numbers are checked. */
const PRUNE_AUDIT_SQL = `DELETE FROM audit WHERE n IN (
  SELECT n FROM (SELECT n, at FROM audit ORDER BY n LIMIT ${SLICE}) WHERE at < ? OR n <= (SELECT max(n) FROM audit) - ?
)`

export function sqliteAudit(sql: Sql, commits: GroupCommit): AuditStore {
  const insert = ({ at, user, key_id, action, conversation_id, status }: AuditEntry) =>
    sql.run(
      'INSERT INTO audit (at, user, key_id, action, conversation_id, status) VALUES (?, ?, ?, ?, ?, ?)',
      at,
      user,
      key_id,
      action,
      conversation_id,
      status,
    )
  return {
    add: (entries) => commits.write(() => entries.forEach(insert)),
    list: ({ user, limit, after }) =>
      commits.read(() => {
        const text = listAuditSql(user !== undefined, after !== undefined)
        const values = [...(user === undefined ? [] : [user]), ...(after === undefined ? [] : [after])]
        const rows = sql.all<AuditRow>(text, ...values, limit + 1).map((row) => ({ ...row }))
        const items = rows.slice(0, limit)
        return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
      }),
    prune: ({ before, atMost }) => commits.write(() => sql.run(PRUNE_AUDIT_SQL, before, atMost)),
  }
}
