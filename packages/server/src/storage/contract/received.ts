import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'
import type { SealedJson, ConversationRow, ConversationQuery } from './conversations.ts'
import type { EventStore } from './events.ts'

/** A conversation that another server has reported. */
export type ReceivedRow = {
  id: ConversationId
  owner: string
  created_at: string
  updated_at: string
  /** Time according to the sender, if it sent one; a report with an earlier time is older. */
  sent_at: string | null
  status: ConversationExecutionStatus
  parent_conversation_id: ConversationId | null
  info: SealedJson
}

/** One item of a listing of own and received conversations. */
export type ListedRow = ({ origin: 'own' } & ConversationRow) | ({ origin: 'received' } & ReceivedRow)

export type ReceivedEvent = { id: string; kind: string; timestamp: string; source?: string | null }

/**
 * Conversations of other servers, as reported by them, separate from our own. Each user sees those that were sent with one of the
 * user's keys, except those with the id of an own conversation of the user.
 */
export interface ReceivedStore {
  /** Inserts or replaces a row. Returns `stale`, without a change, when a newer report or removal is stored. */
  put(row: ReceivedRow): Promise<'stored' | 'stale'>
  /** Removes log and info, and records the removal, so that a late report does not restore them. */
  remove(owner: string, id: ConversationId, sentAt: string | null): Promise<void>
  get(owner: string, id: ConversationId): Promise<ReceivedRow | null>
  /** One page of own and received conversations in one order. */
  search(query: ConversationQuery): Promise<{ items: ListedRow[]; next: ConversationId | null }>
  /** Number of received conversations. */
  count(owner: string, status?: ConversationExecutionStatus): Promise<number>
  /** Appends the events that the log does not contain yet. Creates the log when the conversation itself is not known yet. */
  append(owner: string, id: ConversationId, events: readonly ReceivedEvent[]): Promise<void>
  /** The logs of a user's received conversations. */
  events(owner: string): EventStore
}
