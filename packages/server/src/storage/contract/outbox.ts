import type { ConversationId, StoredEvent } from '@parley/protocol'
import type { NodeNumber } from './nodes.ts'

type DeliveryStatus = 'pending' | 'delivered' | 'parked'

/** One notification, or one batch of events, for one target. */
export type Delivery = {
  /** Unique and permanent. */
  id: string
  target: string
  conversation_id: ConversationId
  /** A lane consists of the deliveries of one target, conversation and kind. They are sent one after another, in the order of their insertion. */
  kind: 'notification' | 'events'
  topic: string
  /** For a notification: its number in its conversation, dense from 1. For a batch: the seq of its first event. */
  sequence: number
  status: DeliveryStatus
  created_at: string
  /** Time of the insertion or of the last `redeliver`; the age of a delivery counts from it. */
  queued_at: string
  /** Attempts that reached the target, since the insertion or the last `redeliver`. */
  attempts: number
  first_attempt_at: string | null
  /** Null while an earlier delivery of its lane is pending, and when this one is finished. */
  next_attempt_at: string | null
  /** HTTP status of the newest answer; null when there was none. */
  last_status: number | null
  last_error: string | null
  /** Time at which the delivery was acknowledged or parked. */
  finished_at: string | null
}

export type DeliveryBody =
  | { kind: 'notification'; payload: string }
  | { kind: 'events'; events: readonly StoredEvent[] }

/** Longest time between an attempt and the next one, in milliseconds. */
export const MAX_DELIVERY_WAIT_MS = 24 * 3600 * 1000

/** Number of the sender of a target: a later sender has a greater one. */
export type SenderTerm = number

/** Result of an attempt. */
export type DeliveryOutcome = {
  at: string
  last_status: number | null
  last_error: string | null
  /** False: the target could not be reached, which does not count as an attempt. Default true. */
  isSent?: boolean
  /** That of the sender that began the attempt; absent: any. */
  term?: SenderTerm
} & ({ status: 'delivered' | 'parked' } | { status: 'pending'; next_attempt_at: string })

/** Deliveries and events that a commit has added. */
export type OutboxChange = {
  /** Null: any. */
  conversation_id: ConversationId | null
  /** Deliveries that may be due now. */
  deliveries: boolean
  /** Events appended to a log that a target follows. */
  events: number
  /** The conversation is deleted: the rest of its log can be sent at once. */
  isOver: boolean
}

export type BatchLimits = {
  /** Cut no batch while fewer events wait, unless the conversation is deleted. */
  atLeast: number
  atMost: number
  /** Bytes of stored events; a larger event is a batch of its own. */
  maxBytes: number
}

/**
 * Deliveries and their progress. A target follows a log from the first append after the target was loaded, and then gets every
 * event: the log of a deleted conversation is kept until all targets have it.
 */
export interface OutboxStore {
  /** Time of the store. Every time of a delivery is of this clock, which all nodes share. */
  now(): Promise<Date>
  /** Calls `listener` after each commit of this process that adds deliveries or events. Returns a function that unsubscribes. */
  subscribe(listener: (change: OutboxChange) => void): () => void
  /**
   * The first deliveries of lanes that are due at `now`, the longest waiting first. One whose time is more than `MAX_DELIVERY_WAIT_MS`
   * ahead is due too: no wait is that long, so the clock was set back. Those of a user who is disabled or being deleted are not due.
   */
  due(target: string, now: string, limit: number): Promise<Delivery[]>
  /** Time at which the next delivery after `now` is due; null when none waits. */
  nextDue(target: string, now: string): Promise<string | null>
  /** Makes a node the sender of a target. Earlier senders of the target begin no attempt any more. */
  lead(target: string, by: NodeNumber): Promise<SenderTerm>
  /**
   * Begins an attempt, at the time `at` of the store. `refused`: another sender leads, or the delivery does not wait any more. `body`: null
   * when it was deleted.
   */
  begin(
    id: string,
    term: SenderTerm,
  ): Promise<{ kind: 'begun'; at: Date; body: DeliveryBody | null } | { kind: 'refused' }>
  /** The body of a delivery; null when it was deleted. */
  body(id: string): Promise<DeliveryBody | null>
  /**
   * Records the result of an attempt, unless a later sender has begun the delivery. When the delivery is finished, the next one of its
   * lane is due at once.
   */
  record(id: string, outcome: DeliveryOutcome): Promise<void>
  /**
   * Parks a slice of the waiting deliveries of a target, the oldest first, except the given ids. Returns the number of parked
   * ones, and the conversations of batches among them. `which`: those queued before a time, or those beyond the bounds.
   */
  park(
    target: string,
    parking: {
      which: { queuedBefore: string } | { atMost: number; maxBytes: number }
      at: string
      reason: string
      except: readonly string[]
    },
  ): Promise<{ parked: number; batches: ConversationId[] }>
  /**
   * Inserts the next batch of events of a conversation, unless the previous one is still pending (`isBusy`).
   * `left`: number of events that still wait.
   */
  cut(
    target: string,
    id: ConversationId,
    limits: BatchLimits,
  ): Promise<{ isCut: boolean; isBusy: boolean; left: number }>
  /** Conversations with events that are in no batch yet. */
  behind(target: string): Promise<ConversationId[]>
  /** Deliveries, newest first. `after`: id of the last delivery of the previous page; an unknown id starts at the beginning. */
  list(query: {
    status?: DeliveryStatus
    limit: number
    after?: string
  }): Promise<{ items: Delivery[]; next: string | null }>
  /** Numbers of the deliveries that wait and of those that are parked. */
  counts(): Promise<{ pending: number; parked: number }>
  /** Queues a parked or acknowledged delivery again. `gone`: its body or its target no longer exists; `pending`: it has not finished. */
  redeliver(id: string): Promise<'queued' | 'unknown' | 'gone' | 'pending'>
  /** Deletes all deliveries about the conversations of a user, also about deleted ones. Nothing of the user may run. */
  dropUser(user: string): Promise<void>
  /** Informs the listeners that deliveries may be due because a user is active again, or is deleted. */
  resume(): void
  /** Deletes a slice of the old acknowledged and parked deliveries. Returns their number. */
  prune(bounds: {
    deliveredBefore: string
    parkedBefore: string
    maxDelivered: number
    maxParked: number
  }): Promise<number>
}
