/** Which changes owe a webhook, and what it says. Pure, apart from reading usage back. Source: seed: Events; agent-server-wire.md 7. */
import type { ConversationExecutionStatus, ConversationId, ConversationState, StoredEvent } from '@parley/protocol'
import type { EventStore, OutboxDraft } from '../../storage/index.ts'
import { conversationInfo, type InfoParts } from './info.ts'

/** What a notification is about: the value of its `X-Parley-Event`. */
export type Cause =
  | 'conversation.started'
  | 'conversation.paused'
  | 'conversation.resumed'
  | 'conversation.updated'
  | 'conversation.deleted'

/** A run that starts from one of these goes on with something that had stopped. */
const STOPPED: ReadonlySet<ConversationExecutionStatus> = new Set(['paused', 'error', 'stuck'])

/**
 * What a commit is to be told as. `before` is null for a new conversation, `after` for a deleted one; `isEdited`: its title
 * or tags were set.
 */
export function causeOf(
  before: ConversationExecutionStatus | null,
  after: ConversationExecutionStatus | null,
  isEdited = false,
): Cause | null {
  if (before === null) return 'conversation.started'
  if (after === null) return 'conversation.deleted'
  if (after === 'paused' && before !== 'paused') return 'conversation.paused'
  if (after === 'running' && STOPPED.has(before)) return 'conversation.resumed'
  return isEdited ? 'conversation.updated' : null
}

/**
 * The notification of a cause: the whole record as it is after the commit, secrets hidden as in REST answers, skills in full,
 * `sub_conversation_ids` empty.
 */
export function notification(cause: Cause, parts: Omit<InfoParts, 'children'>): OutboxDraft {
  const info = conversationInfo({ ...parts, children: [] })
  const told = cause === 'conversation.deleted' ? { ...info, execution_status: 'deleting' as const } : info
  return { topic: cause, payload: JSON.stringify(told) }
}

/** Usage records that the lists inside `stats` are made of. */
const USAGE_LIST = 1000

/** The newest usage records of a conversation, oldest first. */
export async function usageRecords(
  events: Pick<EventStore, 'newest'>,
  id: ConversationId,
  state: Pick<ConversationState, 'stats'>,
): Promise<StoredEvent[]> {
  if (Object.keys(state.stats).length === 0) return []
  return (await events.newest(id, 'UsageRecordedEvent', USAGE_LIST)).reverse()
}
