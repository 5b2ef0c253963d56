/** Writes to a log: taking ownership, and appending. */
import type { ConversationRow, ConversationStore } from '../contract/conversations.ts'
import { requireDense } from '../shared/dense.ts'
import type { Appends } from './appends.ts'
import type { Database } from './database.ts'
import type { Outbox } from './outbox.ts'

const OWN_SQL = 'UPDATE conversations SET epoch = epoch + 1, node = $2 WHERE id = $1 RETURNING n'
const OWNED_SQL = `SELECT c.id, c.owner, c.created_at, c.updated_at, c.seq, c.epoch, c.node, c.status, c.parent_conversation_id, r.record,
    s.seq AS state_seq, s.json AS state_json, coalesce(x.count, 0) AS crashes, b.backup_at AS restored_from
  FROM conversations c JOIN records r ON r.conversation = c.n LEFT JOIN states s ON s.conversation = c.n
    LEFT JOIN crashes x ON x.conversation = c.n LEFT JOIN restored_runs b ON b.conversation = c.n
  WHERE c.n = $1`

type Owned = ConversationRow & {
  state_seq: number | null
  state_json: string | null
  crashes: number
  restored_from: string | null
}

export function postgresLog(
  database: Database,
  appends: Appends,
  outbox: Outbox,
): Pick<ConversationStore, 'own' | 'append'> {
  return {
    // Never `held`: one server at a time uses the database, so every other node has ended.
    own: (id, by) =>
      database.write(async (sql) => {
        const raised = await sql.get<{ n: number }>(OWN_SQL, id, by)
        if (raised === undefined) return { kind: 'unknown' }
        const owned = await sql.get<Owned>(OWNED_SQL, raised.n)
        if (owned === undefined) throw new Error(`conversation ${id} has no record`)
        const { state_seq: seq, state_json: json, crashes, restored_from: restoredFrom, ...row } = owned
        const state = seq === null || json === null ? null : { seq, json }
        return { kind: 'owned', row, state, crashes, restoredFrom }
      }),

    append: async (append) => {
      requireDense(append.expectedSeq, append.events)
      await appends.append(append)
      outbox.announceCommit(append.id, append.outbox, append.events.length)
    },
  }
}
