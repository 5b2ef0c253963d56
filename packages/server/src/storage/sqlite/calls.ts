/** What the store knows of the records of calls outside of it: see `CallStore`. */
import type { CallStore, DataDirectory } from '../contract/directory.ts'
import type { GroupCommit } from './group-commit.ts'
import { packedId } from './event-columns.ts'
import type { Sql } from './sql.ts'

const UNPROVEN_BASH_SQL = 'SELECT id FROM bash_events WHERE is_open = 1 AND is_unproven = 1'
const EVENT_SEQ_SQL = 'SELECT seq FROM events WHERE id = ? AND conversation = ?'

export function sqliteCalls(sql: Sql, commits: GroupCommit): CallStore {
  return {
    directory: () =>
      commits.read(() => {
        const row = sql.get<DataDirectory>('SELECT ledger, mark, next_mark AS "nextMark" FROM data_directory')
        return row === undefined ? null : { ...row }
      }),
    setDirectory: ({ ledger, mark, nextMark }, isComplete) =>
      commits.write(() => {
        sql.run(
          `INSERT INTO data_directory (one, ledger, mark, next_mark) VALUES (1, ?, ?, ?)
           ON CONFLICT (one) DO UPDATE SET ledger = excluded.ledger, mark = excluded.mark, next_mark = excluded.next_mark`,
          ledger,
          mark,
          nextMark,
        )
        if (isComplete) return
        sql.run('UPDATE conversations SET unproven_seq = seq WHERE unproven_seq < seq')
        sql.run('UPDATE bash_events SET is_unproven = 1 WHERE is_open = 1')
      }),
    unproven: (conversation, calls) =>
      commits.read(() => {
        const row = sql.get<{ n: number; unproven_seq: number }>(
          'SELECT n, unproven_seq FROM conversations WHERE id = ?',
          conversation,
        )
        if (row === undefined) {
          const unproven = new Set(sql.all<{ id: string }>(UNPROVEN_BASH_SQL).map(({ id }) => id))
          return new Set(calls.filter((id) => unproven.has(id)))
        }
        if (row.unproven_seq === 0) return new Set()
        // A call that is no event of its own is a part of one.
        const seqOf = (id: string) => sql.get<{ seq: number }>(EVENT_SEQ_SQL, packedId(id), row.n)?.seq ?? 0
        return new Set(calls.filter((id) => seqOf(id) <= row.unproven_seq))
      }),
  }
}
