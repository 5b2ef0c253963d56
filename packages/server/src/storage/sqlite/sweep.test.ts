import { newConversationId, newEventId, type StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { FeedListeners } from '../shared/feed-listeners.ts'
import { GroupCommit } from './group-commit.ts'
import { sqliteLog } from './log.ts'
import { connect } from './open.ts'
import { Outbox } from './outbox.ts'
import { sqliteRecords } from './records.ts'
import type { Sql } from './sql.ts'
import { LogSweep } from './sweep.ts'

function open(path: string) {
  const sql = connect(path)
  const commits = new GroupCommit(sql, path)
  const sweep = new LogSweep(sql, commits)
  const outbox = new Outbox(sql, () => new Date())
  const feeds = new FeedListeners()
  const records = { ...sqliteRecords(sql, commits, sweep, outbox, feeds), ...sqliteLog(sql, commits, outbox, feeds) }
  return { sql, commits, sweep, records }
}

const events = (count: number): StoredEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    seq: index + 1,
    event: { kind: 'Any', id: newEventId(), timestamp: 't' } as unknown as StoredEvent['event'],
  }))

const draft = (count: number) => ({
  id: newConversationId(),
  owner: 'ada',
  created_at: 'c',
  updated_at: 'u',
  node: null,
  status: 'idle' as const,
  parent_conversation_id: null,
  record: '{}',
  events: events(count),
  state: { seq: count, json: '{}' },
})

const rowsIn = (sql: Sql, table: string) => sql.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n

test('a deleted log is swept slice by slice, and other logs stay', async () => {
  const { sql, sweep, records } = open(':memory:')
  const [before, gone, after] = [draft(700), draft(1_700), draft(700)]
  for (const each of [before, gone, after]) await records.create(each)
  await records.delete(gone.id)
  // Answered after one small transaction: most of the log is still there.
  expect(rowsIn(sql, 'events')).toBeGreaterThan(1_400)
  await sweep.idle()
  expect(['events', 'records', 'states', 'deleted_logs'].map((table) => rowsIn(sql, table))).toEqual([1_400, 2, 2, 0])
  sql.database.close()
})

test('an interrupted sweep continues at the next start', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  {
    const { sql, sweep, records, commits } = open(path)
    const gone = draft(2_000)
    await records.create(gone)
    await records.delete(gone.id)
    await sweep.stop()
    await commits.close()
    expect(rowsIn(sql, 'events')).toBeGreaterThan(0)
    sql.database.close()
  }
  const { sql, sweep } = open(path)
  sweep.start()
  await sweep.idle()
  expect(rowsIn(sql, 'events')).toBe(0)
  expect(rowsIn(sql, 'deleted_logs')).toBe(0)
  sql.database.close()
})
