import type { ConversationId, EventId, EventOutline, StoredEvent } from '@parley/protocol'

export type EventFilter = {
  /** Stored kinds; any of them. */
  kinds?: readonly string[]
  source?: string
  /** Case-insensitive substring over the text, extended content and reasoning of MessageEvents; other kinds never match. */
  body?: string
  /** Case-insensitive substring over the searchable text of events of any kind: messages, calls, results and errors. */
  text?: string
  /** Compared with the event's `timestamp` as text (ISO, UTC, no offset). */
  timestampGte?: string
  timestampLt?: string
}

type EventPage = {
  /** First seq of the page, inclusive. Ascending: default 1. Descending: default the newest. */
  from?: number
  /** Ascending: last seq of the page, inclusive; default the newest. */
  until?: number
  order?: 'asc' | 'desc'
  limit: number
  filter?: EventFilter
}

/** Events with a greater seq than `after` and a smaller one than `before`; of these the newest `limit`. */
export type OutlineRange = { after: number; before: number; limit: number }

export interface EventStore {
  page(id: ConversationId, page: EventPage): Promise<StoredEvent[]>
  count(id: ConversationId, filter?: EventFilter): Promise<number>
  /** One event by its id. */
  get(id: ConversationId, event: EventId): Promise<StoredEvent | null>
  /** Several events by seq, ascending. */
  getMany(id: ConversationId, seqs: readonly number[]): Promise<StoredEvent[]>
  /** The newest events of one kind, newest first. */
  newest(id: ConversationId, kind: string, limit: number): Promise<StoredEvent[]>
  /** Kind, place, time and size of many events, without reading them; without events for an unknown conversation. */
  outline(id: ConversationId, range: OutlineRange): Promise<EventOutline>
}
