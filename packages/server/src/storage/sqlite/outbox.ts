/**
 * What a commit leaves to deliver, written inside the transaction of its cause.
 *
 * Invariants
 *   O1. Of a lane (target, conversation, kind) only the first pending delivery has a `next_attempt_at`.
 *   O2. A followed log's `seq` is the newest event in any batch; what lies behind it up to the end of the log is still owed.
 *   O3. The log of a deleted conversation stays until nobody follows it and no batch of it is pending or parked.
 */
import { type ConversationId, newEventId } from '@parley/protocol'
import { type Clock, isoNow } from '../../lib/index.ts'
import type { OutboxChange, OutboxDraft, OutboxTarget } from '../storage.ts'
import type { Sql } from './sql.ts'

export const LANE_SQL = `SELECT n FROM deliveries WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' LIMIT 1`
export const LAST_SEQUENCE_SQL = 'SELECT max(sequence) AS sequence FROM outbox WHERE conversation_id = ?'
const NOBODY_NEEDS_IT = `NOT EXISTS (SELECT 1 FROM followed_logs WHERE log = deleted_logs.conversation)
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE log = deleted_logs.conversation AND log IS NOT NULL AND status <> 'delivered')`
export const RELEASE_SQL = `UPDATE deleted_logs SET held = 0 WHERE conversation = ? AND held = 1 AND ${NOBODY_NEEDS_IT}`
const RELEASE_ALL_SQL = `UPDATE deleted_logs SET held = 0 WHERE held = 1 AND ${NOBODY_NEEDS_IT}`
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
}

export class Outbox {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #listeners = new Set<(change: OutboxChange) => void>()
  #targets: readonly OutboxTarget[] = []

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  get targets(): readonly OutboxTarget[] {
    return this.#targets
  }

  setTargets(targets: readonly OutboxTarget[]): void {
    this.#targets = targets
  }

  subscribe(listener: (change: OutboxChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tells listeners of a commit; called once it is durable. */
  announce(change: OutboxChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Tells listeners of appended events and notifications, if any target has them coming. */
  announceCommit(id: ConversationId, drafts: readonly OutboxDraft[] | undefined, events: number, isOver = false): void {
    if (this.#targets.length === 0) return
    const deliveries = drafts !== undefined && drafts.length > 0
    if (deliveries || events > 0 || isOver) this.announce({ conversation_id: id, deliveries, events, isOver })
  }

  now(): string {
    return isoNow(this.#clock)
  }

  /** The highest number among the notifications that are still stored for an id: a new conversation of that id goes on there. */
  lastSequence(id: ConversationId): number {
    return this.#sql.get<{ sequence: number | null }>(LAST_SEQUENCE_SQL, id)?.sequence ?? 0
  }

  /** Writes notifications to every target, numbered after those that the conversation has had. */
  notify(conversation: number, id: ConversationId, drafts: readonly OutboxDraft[] | undefined): void {
    if (drafts === undefined || drafts.length === 0 || this.#targets.length === 0) return
    const counted = this.#sql.returning<{ notified: number }>(
      'UPDATE conversations SET notified = notified + ? WHERE n = ? RETURNING notified',
      drafts.length,
      conversation,
    )
    this.write(id, drafts, (counted?.notified ?? drafts.length) - drafts.length)
  }

  /** Writes notifications whose numbers follow `after`. */
  write(id: ConversationId, drafts: readonly OutboxDraft[], after: number): void {
    if (this.#targets.length === 0) return
    for (const [index, { topic, payload }] of drafts.entries()) {
      const sequence = after + index + 1
      const made = this.#sql.returning<{ id: number }>(
        'INSERT INTO outbox (conversation_id, topic, payload, created_at, sequence) VALUES (?, ?, ?, ?, ?) RETURNING id',
        id,
        topic,
        payload,
        this.now(),
        sequence,
      )
      for (const { name: target } of this.#targets) {
        const common = { kind: 'notification' as const, topic, sequence, log: null, lastSeq: null }
        this.insert({ ...common, target, conversation_id: id, outbox: made?.id ?? null })
      }
    }
  }

  /** Puts a delivery at the end of its lane (O1). */
  insert(delivery: NewDelivery): void {
    const { target, conversation_id, kind, topic, sequence, outbox, log, lastSeq } = delivery
    const at = this.now()
    this.#sql.run(
      `INSERT INTO deliveries
         (id, target, conversation_id, kind, topic, sequence, status, created_at, next_attempt_at, outbox, log, last_seq)
       VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)`,
      newEventId(),
      target,
      conversation_id,
      kind,
      topic,
      sequence,
      at,
      this.isLaneBusy(target, conversation_id, kind) ? null : at,
      outbox,
      log,
      lastSeq,
    )
  }

  isLaneBusy(target: string, id: ConversationId, kind: NewDelivery['kind']): boolean {
    return this.#sql.get(LANE_SQL, target, id, kind) !== undefined
  }

  /** Lets every target that wants events follow a log from after `seq` on, unless it does already. */
  follow(conversation: number, id: ConversationId, seq: number): void {
    for (const { name, events } of this.#targets) {
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

  /** The conversation is deleted: whoever has all of its log stops following, the others follow it to its end (O3). */
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

  /** Lets the log of a deleted conversation go, once nobody needs it; without a number, every such log. True when one goes. */
  release(conversation?: number): boolean {
    if (conversation === undefined) return this.#sql.run(RELEASE_ALL_SQL) > 0
    return this.#sql.run(RELEASE_SQL, conversation) > 0
  }

  unfollow(conversation: number, target: string): void {
    this.#sql.run('DELETE FROM followed_logs WHERE log = ? AND target = ?', conversation, target)
  }
}
