/**
 * Deliveries and followed logs, written in the transaction of the commit that causes them.
 *
 * Invariants
 *   O1. In a lane (target, conversation, kind), only the first pending delivery has a `next_attempt_at`. A transaction that inserts or
 *       finishes deliveries of a conversation holds the lock of its lanes.
 *   O2. The `seq` of a followed log is the newest event in any batch; later events of the log are still to be delivered.
 *   O3. The log of a deleted conversation is kept until no target follows it and no batch of it is pending or parked.
 */
import { type ConversationId, newEventId } from '@parley/protocol'
import type { OutboxDraft } from '../contract/conversations.ts'
import { Announcements } from '../shared/announcements.ts'
import { noticesOf } from '../shared/notices.ts'
import { timeSql } from './clock.ts'
import type { Sql } from './database.ts'

const LANE_SQL = `SELECT 1 FROM deliveries WHERE target = $1 AND conversation_id = $2 AND kind = $3 AND status = 'pending' LIMIT 1`
const NO_TARGET_NEEDS_IT = `NOT EXISTS (SELECT 1 FROM followed_logs WHERE log = deleted_logs.conversation)
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE log = deleted_logs.conversation AND log IS NOT NULL AND status <> 'delivered')`
const RELEASE_ALL_SQL = `UPDATE deleted_logs SET is_held = false WHERE is_held AND ${NO_TARGET_NEEDS_IT}`
const RELEASE_SQL = `${RELEASE_ALL_SQL} AND conversation = $1`
/** A payload, and its delivery to every target; a lane without pending deliveries makes it due (O1). */
const NOTIFY_SQL = `WITH made AS (
    INSERT INTO outbox (conversation_id, topic, payload, created_at, sequence) VALUES ($1, $2, $3, ${timeSql('$4')}, $5) RETURNING id, created_at
  )
  INSERT INTO deliveries
    (id, target, conversation_id, kind, topic, sequence, status, created_at, queued_at, next_attempt_at, outbox, bytes)
  SELECT x.id, x.target, $1, 'notification', $2, $5, 'pending', made.created_at, made.created_at, CASE WHEN EXISTS (
      SELECT 1 FROM deliveries d
      WHERE d.target = x.target AND d.conversation_id = $1 AND d.kind = 'notification' AND d.status = 'pending'
    ) THEN NULL ELSE made.created_at END, made.id, $6
  FROM made, unnest($7::text[], $8::text[]) AS x (id, target)`
const INSERT_BATCH_SQL = `INSERT INTO deliveries
    (id, target, conversation_id, kind, topic, sequence, status, created_at, queued_at, next_attempt_at, outbox, log, last_seq, bytes)
  SELECT $1, $2, $3, 'events', $4, $5, 'pending', at, at, at, NULL, $7, $8, 0 FROM (SELECT ${timeSql('$6')} AS at) clock`
const UNFOLLOW_SQL = `DELETE FROM followed_logs f WHERE NOT EXISTS (
  SELECT 1 FROM webhook_targets t WHERE t.name = f.target AND t.wants_events AND t.removed_at IS NULL)`
const UNCONFIGURED_SQL = `UPDATE deliveries d SET status = 'parked', next_attempt_at = NULL, finished_at = ${timeSql('$1')},
    last_status = NULL, last_error = 'the target is no longer configured'
  WHERE status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM webhook_targets t WHERE t.name = d.target AND t.removed_at IS NULL AND (t.wants_events OR d.kind <> 'events'))`
const FORGET_SQL = 'DELETE FROM outbox WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = $1)'
const FOLLOW_SQL = `INSERT INTO followed_logs (log, target, conversation_id, seq) VALUES ($1, $2, $3, $4)
  ON CONFLICT (log, target) DO NOTHING`

/** A batch of events, which are in the log. */
export type NewBatch = { target: string; conversation_id: ConversationId; log: number; first: number; last: number }

export class Outbox extends Announcements {
  readonly #now: (() => Date) | undefined

  /** @param now replaces the clock of the database, for tests */
  constructor(now: (() => Date) | undefined) {
    super()
    this.#now = now
  }

  /** The time for `timeSql`; null: that of the database. */
  givenTime(): string | null {
    return this.#now?.().toISOString() ?? null
  }

  /** Parks the waiting deliveries of names that are no target, and drops their followed logs. */
  async parkUnconfigured(sql: Sql): Promise<void> {
    await sql.run(UNFOLLOW_SQL)
    await sql.run(UNCONFIGURED_SQL, this.givenTime())
    await this.release(sql)
  }

  /** The highest number of the notifications still stored for an id; a new conversation of that id continues from it. */
  async lastSequence(sql: Sql, id: ConversationId): Promise<number> {
    const text = 'SELECT max(sequence) AS sequence FROM outbox WHERE conversation_id = $1'
    return (await sql.get<{ sequence: number | null }>(text, id))?.sequence ?? 0
  }

  /** Writes notifications for every target, with numbers from `after + 1`. The lanes of the conversation are locked. */
  async write(sql: Sql, id: ConversationId, drafts: readonly OutboxDraft[], after: number): Promise<void> {
    for (const { draft, sequence, targets } of noticesOf(drafts, this.targets, after)) {
      const { topic, payload } = draft
      const ids = targets.map(() => newEventId())
      const values = [id, topic, payload, this.givenTime(), sequence, Buffer.byteLength(payload), ids, targets]
      await sql.run(NOTIFY_SQL, ...values)
    }
  }

  /** Inserts a batch into a lane that is locked and has no pending batch, so it is due (O1). */
  async insertBatch(sql: Sql, { target, conversation_id: id, log, first, last }: NewBatch): Promise<void> {
    await sql.run(INSERT_BATCH_SQL, newEventId(), target, id, 'conversation.events', first, this.givenTime(), log, last)
  }

  async isLaneBusy(sql: Sql, target: string, id: ConversationId, kind: 'notification' | 'events'): Promise<boolean> {
    return (await sql.get(LANE_SQL, target, id, kind)) !== undefined
  }

  /** Deletes the payload of a notification that no delivery needs any more. */
  async forget(sql: Sql, payload: number): Promise<void> {
    await sql.run(FORGET_SQL, payload)
  }

  /** Makes every target for events follow a log after `seq`, unless it follows the log already. */
  async follow(sql: Sql, conversation: number, id: ConversationId, seq: number): Promise<void> {
    for (const { name, events } of this.targets) if (events) await sql.run(FOLLOW_SQL, conversation, name, id, seq)
  }

  /** Ends the log of a deleted conversation: targets that have all of it stop following, the others follow it to its end (O3). */
  async end(sql: Sql, conversation: number, seq: number): Promise<void> {
    await sql.run('INSERT INTO deleted_logs (conversation, seq, is_held) VALUES ($1, $2, true)', conversation, seq)
    await sql.run('DELETE FROM followed_logs WHERE log = $1 AND seq >= $2', conversation, seq)
    await sql.run('UPDATE followed_logs SET last_seq = $2 WHERE log = $1', conversation, seq)
    await this.release(sql, conversation)
  }

  /** Releases the log of a deleted conversation, or every such log, for sweeping, once no target needs it. True when one was released. */
  async release(sql: Sql, conversation?: number): Promise<boolean> {
    if (conversation === undefined) return (await sql.run(RELEASE_ALL_SQL)) > 0
    return (await sql.run(RELEASE_SQL, conversation)) > 0
  }

  async unfollow(sql: Sql, conversation: number, target: string): Promise<void> {
    await sql.run('DELETE FROM followed_logs WHERE log = $1 AND target = $2', conversation, target)
  }
}
