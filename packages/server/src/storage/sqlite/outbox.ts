/**
 * Deliveries and followed logs, written in the transaction of the commit that causes them.
 *
 * Invariants
 *   O1. In a lane (target, conversation, kind), only the first pending delivery has a `next_attempt_at`.
 *   O2. The `seq` of a followed log is the newest event in any batch; later events of the log are still to be delivered.
 *   O3. The log of a deleted conversation is kept until no target follows it and no batch of it is pending or parked.
 */
import { type ConversationId, newEventId } from '@parley/protocol'
import type { OutboxDraft } from '../contract/conversations.ts'
import { Announcements } from '../shared/announcements.ts'
import { countOf, noticesOf } from '../shared/notices.ts'
import type { Sql } from './sql.ts'

export const LANE_SQL = `SELECT n FROM deliveries WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' LIMIT 1`
export const LAST_SEQUENCE_SQL = 'SELECT max(sequence) AS sequence FROM outbox WHERE conversation_id = ?'
const NO_TARGET_NEEDS_IT = `NOT EXISTS (SELECT 1 FROM followed_logs WHERE log = deleted_logs.conversation)
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE log = deleted_logs.conversation AND log IS NOT NULL AND status <> 'delivered')`
export const RELEASE_SQL = `UPDATE deleted_logs SET held = 0 WHERE conversation = ? AND held = 1 AND ${NO_TARGET_NEEDS_IT}`
const RELEASE_ALL_SQL = `UPDATE deleted_logs SET held = 0 WHERE held = 1 AND ${NO_TARGET_NEEDS_IT}`
const UNCONFIGURED_SQL = `UPDATE deliveries SET status = 'parked', next_attempt_at = NULL, finished_at = ?, last_status = NULL,
    last_error = 'the target is no longer configured'
  WHERE status = 'pending' AND target NOT IN (SELECT value FROM json_each(CASE kind WHEN 'events' THEN ? ELSE ? END))`
export const FOLLOWERS_SQL = 'SELECT target, seq FROM followed_logs WHERE log = ?'

export type NewDelivery = {
  target: string
  conversation_id: ConversationId
  kind: 'notification' | 'events'
  topic: string
  sequence: number
  outbox: number | null
  log: number | null
  lastSeq: number | null
  /** Size of the payload of a notification; 0 for a batch, whose events are in the log. */
  bytes: number
}

export class Outbox extends Announcements {
  readonly #sql: Sql
  readonly #now: () => Date

  constructor(sql: Sql, now: () => Date) {
    super()
    this.#sql = sql
    this.#now = now
  }

  now(): string {
    return this.#now().toISOString()
  }

  /** Parks the waiting deliveries of names that are no target, and drops their followed logs. */
  parkUnconfigured(): void {
    const names = JSON.stringify(this.targets.map(({ name }) => name))
    const following = JSON.stringify(this.targets.filter(({ events }) => events).map(({ name }) => name))
    this.#sql.run('DELETE FROM followed_logs WHERE target NOT IN (SELECT value FROM json_each(?))', following)
    this.#sql.run(UNCONFIGURED_SQL, this.now(), following, names)
    this.release()
  }

  /** The highest number of the notifications still stored for an id; a new conversation of that id continues from it. */
  lastSequence(id: ConversationId): number {
    return this.#sql.get<{ sequence: number | null }>(LAST_SEQUENCE_SQL, id)?.sequence ?? 0
  }

  /** Writes notifications for every target, numbered after the earlier ones of the conversation. */
  notify(conversation: number, id: ConversationId, drafts: readonly OutboxDraft[] | undefined): void {
    if (drafts === undefined || drafts.length === 0 || this.targets.length === 0) return
    const count = countOf(drafts)
    const counted = this.#sql.returning<{ notified: number }>(
      'UPDATE conversations SET notified = notified + ? WHERE n = ? RETURNING notified',
      count,
      conversation,
    )
    this.write(id, drafts, (counted?.notified ?? count) - count)
  }

  /** Writes notifications with numbers from `after + 1`. */
  write(id: ConversationId, drafts: readonly OutboxDraft[], after: number): void {
    for (const { draft, sequence, targets } of noticesOf(drafts, this.targets, after)) {
      const { topic, payload } = draft
      const bytes = Buffer.byteLength(payload)
      const made = this.#sql.returning<{ id: number }>(
        'INSERT INTO outbox (conversation_id, topic, payload, created_at, sequence) VALUES (?, ?, ?, ?, ?) RETURNING id',
        id,
        topic,
        payload,
        this.now(),
        sequence,
      )
      for (const target of targets) {
        const common = { kind: 'notification' as const, topic, sequence, log: null, lastSeq: null, bytes }
        this.insert({ ...common, target, conversation_id: id, outbox: made?.id ?? null })
      }
    }
  }

  /** Inserts a delivery at the end of its lane (O1). */
  insert(delivery: NewDelivery): void {
    const { target, conversation_id, kind, topic, sequence, outbox, log, lastSeq, bytes } = delivery
    const at = this.now()
    this.#sql.run(
      `INSERT INTO deliveries
         (id, target, conversation_id, kind, topic, sequence, status, created_at, queued_at, next_attempt_at, outbox, log,
          last_seq, bytes)
       VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?)`,
      newEventId(),
      target,
      conversation_id,
      kind,
      topic,
      sequence,
      at,
      at,
      this.isLaneBusy(target, conversation_id, kind) ? null : at,
      outbox,
      log,
      lastSeq,
      bytes,
    )
  }

  isLaneBusy(target: string, id: ConversationId, kind: NewDelivery['kind']): boolean {
    return this.#sql.get(LANE_SQL, target, id, kind) !== undefined
  }

  /** Deletes the payload of a notification that no delivery needs any more. */
  forget(payload: number): void {
    this.#sql.run(
      'DELETE FROM outbox WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = ?1)',
      payload,
    )
  }

  /** Makes every target for events follow a log after `seq`, unless it follows the log already. */
  follow(conversation: number, id: ConversationId, seq: number): void {
    for (const { name, events } of this.targets) {
      if (!events) continue
      this.#sql.run(
        'INSERT INTO followed_logs (log, target, conversation_id, seq) VALUES (?, ?, ?, ?) ON CONFLICT (log, target) DO NOTHING',
        conversation,
        name,
        id,
        seq,
      )
    }
  }

  /** Ends the log of a deleted conversation: targets that have all of it stop following, the others follow it to its end (O3). */
  end(conversation: number, seq: number): void {
    this.#sql.run('INSERT INTO deleted_logs (conversation, seq, held) VALUES (?, ?, 1)', conversation, seq)
    for (const follower of this.#sql.all<{ target: string; seq: number }>(FOLLOWERS_SQL, conversation)) {
      if (follower.seq >= seq) this.unfollow(conversation, follower.target)
      else
        this.#sql.run(
          'UPDATE followed_logs SET last_seq = ? WHERE log = ? AND target = ?',
          seq,
          conversation,
          follower.target,
        )
    }
    this.release(conversation)
  }

  /** Releases the log of a deleted conversation, or every such log, for sweeping, once no target needs it. True when one was released. */
  release(conversation?: number): boolean {
    if (conversation === undefined) return this.#sql.run(RELEASE_ALL_SQL) > 0
    return this.#sql.run(RELEASE_SQL, conversation) > 0
  }

  unfollow(conversation: number, target: string): void {
    this.#sql.run('DELETE FROM followed_logs WHERE log = ? AND target = ?', conversation, target)
  }
}
