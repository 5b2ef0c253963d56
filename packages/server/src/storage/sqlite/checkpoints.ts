/** Checkpoints of files: which tree belongs to which event. */
import { ParleyError } from '@parley/protocol'
import type { CheckpointRow, CheckpointStore } from '../contract/checkpoints.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const OF = 'conversation = (SELECT n FROM conversations WHERE id = ?)'

export const CHECKPOINT_AT_SQL = `SELECT seq, tree FROM checkpoints WHERE ${OF} AND seq <= ? ORDER BY seq DESC LIMIT 1`
export const CHECKPOINTS_SQL = `SELECT seq, tree FROM checkpoints WHERE ${OF} ORDER BY seq`

export function insertCheckpoint(sql: Sql, conversation: number, { seq, tree }: CheckpointRow): void {
  sql.run(
    `INSERT INTO checkpoints (conversation, seq, tree) VALUES (?, ?, ?)
     ON CONFLICT (conversation, seq) DO UPDATE SET tree = excluded.tree`,
    conversation,
    seq,
    tree,
  )
}

export function sqliteCheckpoints(sql: Sql, commits: GroupCommit): CheckpointStore {
  return {
    at: (id, seq = Number.MAX_SAFE_INTEGER) =>
      commits.read(() => {
        const row = sql.get<CheckpointRow>(CHECKPOINT_AT_SQL, id, seq)
        return row === undefined ? null : { ...row }
      }),
    list: (id) => commits.read(() => sql.all<CheckpointRow>(CHECKPOINTS_SQL, id).map((row) => ({ ...row }))),
    put: (id, epoch, checkpoint) =>
      commits.write(() => {
        const row = sql.get<{ n: number; epoch: number }>('SELECT n, epoch FROM conversations WHERE id = ?', id)
        const details = { conversation_id: id, epoch: row?.epoch }
        if (row === undefined) throw new ParleyError('not_found', `no conversation ${id}`, { details })
        if (row.epoch !== epoch) {
          const message = `conversation ${id} has another owner: epoch ${epoch} was replaced by ${row.epoch}; own it again`
          throw new ParleyError('conflict', message, { details: { reason: 'epoch', ...details } })
        }
        insertCheckpoint(sql, row.n, checkpoint)
      }),
    removeBefore: (id, seq) =>
      commits.write(() => void sql.run(`DELETE FROM checkpoints WHERE ${OF} AND seq < ?`, id, seq)),
  }
}
