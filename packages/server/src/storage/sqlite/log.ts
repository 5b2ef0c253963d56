/** Appends to a log. */
import { ParleyError } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import type { Append, CachedState, ConversationStore } from '../contract/conversations.ts'
import { requireDense } from '../shared/dense.ts'
import { type FeedListeners, isInFeed } from '../shared/feed-listeners.ts'
import { spentIn } from '../shared/usage.ts'
import { wantsOwnerAfter } from '../shared/wants-owner.ts'
import { bytesOf, type EventColumns, eventColumns, insertEvents } from './event-columns.ts'
import { isDuplicate } from './failures.ts'
import { noteChange } from './feed.ts'
import type { GroupCommit } from './group-commit.ts'
import { putNote, settleNotes } from './notes.ts'
import type { Outbox } from './outbox.ts'
import type { Sql } from './sql.ts'
import { countBytes, countSpent } from './usage.ts'
import { secretsVersion } from './vault.ts'

/** Finds the event of a log at a seq, if it has this id. */
const EVENT_AT_SQL = 'SELECT 1 FROM events WHERE conversation = ? AND seq = ? AND id = ?'

export function putState(sql: Sql, conversation: number, state: CachedState): void {
  sql.run(
    `INSERT INTO states (conversation, seq, json) VALUES (?, ?, ?)
     ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, json = excluded.json`,
    conversation,
    state.seq,
    state.json,
  )
}

/** The reason why the guard of an append matched no row. */
function refusal(sql: Sql, { id, epoch, expectedSeq }: Append): ParleyError {
  const row = sql.get<{ seq: number; epoch: number }>('SELECT seq, epoch FROM conversations WHERE id = ?', id)
  if (row === undefined)
    return new ParleyError('not_found', `no conversation ${id}`, { details: { conversation_id: id } })
  const details = { conversation_id: id, seq: row.seq, epoch: row.epoch }
  if (row.epoch !== epoch) {
    const message = `conversation ${id} has another owner: epoch ${epoch} was replaced by ${row.epoch}; own it again`
    return new ParleyError('conflict', message, { details: { reason: 'epoch', ...details } })
  }
  const message = `conversation ${id} is at seq ${row.seq}, not ${expectedSeq}; read the events between and retry`
  return new ParleyError('conflict', message, { details: { reason: 'seq', ...details } })
}

/** @throws ParleyError `conflict` when a secret was changed after the events were masked (S7) */
function expectMasked(sql: Sql, { id, masked }: Append): void {
  if (masked === undefined || masked.version === secretsVersion(sql, masked.user)) return
  throw new ParleyError('conflict', `secrets were changed after the events of ${id} were masked; mask them again`, {
    details: { reason: 'secrets', conversation_id: id },
  })
}

/** True when this append is the newest one of the log: its answer was lost, and it is repeated (S6). */
function isStored(sql: Sql, { id, epoch, expectedSeq, events }: Append, columns: readonly EventColumns[]): boolean {
  if (events.length === 0) return false
  const row = sql.get<{ n: number }>(
    'SELECT n FROM conversations WHERE id = ? AND seq = ? AND epoch = ?',
    id,
    expectedSeq + events.length,
    epoch,
  )
  if (row === undefined) return false
  return columns.every(([seq, stored]) => sql.get(EVENT_AT_SQL, row.n, seq, stored) !== undefined)
}

/**
 * Updates `seq`, `bytes` and the given columns; the statement itself checks seq and epoch (S3). Undefined when it matched no row.
 */
function advance(sql: Sql, append: Append, bytes: number): { n: number; owner: string } | undefined {
  const { id, epoch, expectedSeq, events, row } = append
  const sets = ['seq = seq + ?', 'bytes = bytes + ?']
  const values: SQLInputValue[] = [events.length, bytes]
  // Only changed columns are named, because SQLite rewrites every index of a column in SET.
  for (const column of ['status', 'updated_at'] as const) {
    const value = row?.[column]
    if (value === undefined) continue
    sets.push(`${column} = ?`)
    values.push(value)
  }
  const wantsOwner = wantsOwnerAfter(row)
  if (wantsOwner !== null) {
    sets.push('wants_owner = ?')
    values.push(Number(wantsOwner))
  }
  return sql.returning<{ n: number; owner: string }>(
    `UPDATE conversations SET ${sets.join(', ')} WHERE id = ? AND seq = ? AND epoch = ? RETURNING n, owner`,
    ...values,
    id,
    expectedSeq,
    epoch,
  )
}

type Counted = { columns: readonly EventColumns[]; bytes: number; spent: ReturnType<typeof spentIn> }

/** Returns the owner when the feed shows the append. */
function appendNow(sql: Sql, append: Append, { columns, bytes, spent }: Counted, outbox: Outbox): string | null {
  expectMasked(sql, append)
  const advanced = advance(sql, append, bytes)
  if (advanced === undefined) {
    if (isStored(sql, append, columns)) return null
    throw refusal(sql, append)
  }
  const { n: conversation, owner } = advanced
  try {
    insertEvents(sql, conversation, columns)
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw new ParleyError('conflict', `conversation ${append.id} already holds an event with one of these ids`, {
      details: { reason: 'duplicate_event', conversation_id: append.id },
      cause: error,
    })
  }
  countBytes(sql, owner, bytes)
  countSpent(sql, owner, spent)
  const record = append.row?.record
  if (record !== undefined) sql.run('UPDATE records SET record = ? WHERE conversation = ?', record, conversation)
  if (wantsOwnerAfter(append.row) === false) {
    sql.run('DELETE FROM crashes WHERE conversation = ?', conversation)
    sql.run('DELETE FROM restored_runs WHERE conversation = ?', conversation)
  }
  if (append.state !== undefined) putState(sql, conversation, append.state)
  for (const note of append.notes ?? []) putNote(sql, conversation, note)
  if (append.settled !== undefined) settleNotes(sql, conversation, append.settled)
  if (columns.length > 0) outbox.follow(conversation, append.id, append.expectedSeq)
  outbox.notify(conversation, append.id, append.outbox)
  if (!isInFeed(append.row)) return null
  noteChange(sql, owner, append.id)
  return owner
}

export function sqliteLog(
  sql: Sql,
  commits: GroupCommit,
  outbox: Outbox,
  feeds: FeedListeners,
): Pick<ConversationStore, 'append'> {
  return {
    append: async (append) => {
      requireDense(append.expectedSeq, append.events)
      const columns = append.events.map(eventColumns)
      const counted = { columns, bytes: bytesOf(columns), spent: spentIn(append.events) }
      const owner = await commits.write(() => appendNow(sql, append, counted, outbox))
      outbox.announceCommit(append.id, append.outbox, columns.length)
      if (owner !== null) feeds.changed(owner)
    },
  }
}
