/**
 * Which node has a conversation. Only one process uses the file, so every node but the newest has ended, and a conversation is never held
 * by another one.
 */
import type { ConversationId } from '@parley/protocol'
import type { CachedState, ConversationRow, ConversationStore, OwnedRow } from '../contract/conversations.ts'
import type { NodeNumber } from '../contract/nodes.ts'
import type { GroupCommit } from './group-commit.ts'
import { ROWS_SQL } from './rows.ts'
import type { Sql } from './sql.ts'

/** Roots of the conversations that should run and have another node, or none. */
export const ORPHANS_SQL = `SELECT coalesce(root, id) AS root FROM conversations WHERE wants_owner = 1 AND node IS NOT ?1 ORDER BY id LIMIT ?2`
const WANTING_SQL = 'SELECT id FROM conversations WHERE wants_owner = 1 AND node = ?'
/** A root: the conversation of this id and its sub-agents. */
export const CLAIM_SQL = `UPDATE conversations SET node = ?1, epoch = epoch + 1 WHERE (id = ?2 OR root = ?2) AND node IS NOT ?1
  RETURNING id, wants_owner`
const RELEASE_MOVING_SQL = `UPDATE conversations SET node = NULL WHERE node = ? AND place IS NULL
  AND coalesce(root, id) NOT IN (SELECT value FROM json_each(?))`

type Owning = Pick<ConversationStore, 'orphans' | 'wanting' | 'release' | 'claim' | 'holder' | 'own'>

export function sqliteOwning(sql: Sql, commits: GroupCommit): Owning {
  return {
    orphans: (by, limit) =>
      commits.write(() => {
        const roots = sql.all<{ root: ConversationId }>(ORPHANS_SQL, by, limit)
        return [...new Set(roots.map(({ root }) => root))].flatMap((root) => claimRoot(sql, root, by))
      }),
    wanting: (by) => commits.read(() => sql.all<{ id: ConversationId }>(WANTING_SQL, by).map(({ id }) => id)),
    release: (by, keeping) =>
      commits.write(() => {
        if (keeping === undefined) sql.run('UPDATE conversations SET node = NULL WHERE node = ?', by)
        else sql.run(RELEASE_MOVING_SQL, by, JSON.stringify(keeping))
      }),
    claim: (id, by) =>
      commits.write(() => {
        const wanting = claimNow(sql, id, by)
        return wanting === null ? { kind: 'unknown' } : { kind: 'claimed', wanting }
      }),
    holder: (id) =>
      commits.read(() => {
        const row = sql.get<Pick<ConversationRow, 'node' | 'place'>>(
          'SELECT node, place FROM conversations WHERE id = ?',
          id,
        )
        return row === undefined ? null : { ...row, isLive: row.node !== null, url: '' }
      }),
    own: (id, by) =>
      commits.write(() => {
        const text = 'UPDATE conversations SET epoch = epoch + 1 WHERE id = ? AND node = ? RETURNING n'
        let raised = sql.returning<{ n: number }>(text, id, by)
        if (raised === undefined) {
          if (claimNow(sql, id, by) === null) return { kind: 'unknown' }
          raised = sql.get<{ n: number }>('SELECT n FROM conversations WHERE id = ?', id)!
        }
        return { kind: 'owned', ...ownedRow(sql, raised.n) }
      }),
  }
}

/** The conversations that should run and had another node; null for an unknown conversation. */
function claimNow(sql: Sql, id: ConversationId, by: NodeNumber): ConversationId[] | null {
  const found = sql.get<{ root: ConversationId }>(
    'SELECT coalesce(root, id) AS root FROM conversations WHERE id = ?',
    id,
  )
  return found === undefined ? null : claimRoot(sql, found.root, by)
}

function claimRoot(sql: Sql, root: ConversationId, by: NodeNumber): ConversationId[] {
  const claimed = sql.returningAll<{ id: ConversationId; wants_owner: number }>(CLAIM_SQL, by, root)
  return claimed.filter(({ wants_owner }) => wants_owner === 1).map(({ id }) => id)
}

function ownedRow(sql: Sql, n: number): OwnedRow {
  const row = sql.get<ConversationRow>(`${ROWS_SQL} WHERE c.n = ?`, n)
  if (row === undefined) throw new Error(`conversation ${n} has no record`)
  const state = sql.get<CachedState>('SELECT seq, json FROM states WHERE conversation = ?', n)
  const crashes = sql.get<{ count: number }>('SELECT count FROM crashes WHERE conversation = ?', n)?.count ?? 0
  const restored = sql.get<{ at: string }>('SELECT backup_at AS at FROM restored_runs WHERE conversation = ?', n)
  return {
    row: { ...row },
    state: state === undefined ? null : { ...state },
    crashes,
    restoredFrom: restored?.at ?? null,
  }
}
