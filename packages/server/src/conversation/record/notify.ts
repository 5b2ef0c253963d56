/** Which changes notify webhooks, and with which payload. Pure. Source: interface.md, Events; agent-server-wire.md 7. */
import type { ConversationExecutionStatus } from '@parley/protocol'
import type { OutboxDraft } from '../../storage/index.ts'
import { conversationInfo, type InfoSources } from './info.ts'

/** The topic of a notification: the value of its `X-Parley-Event`. */
export type Topic =
  | 'conversation.started'
  | 'conversation.paused'
  | 'conversation.resumed'
  | 'conversation.updated'
  | 'conversation.deleted'
  | 'conversation.waiting'

/** Statuses from which a run resumes. */
const STOPPED: ReadonlySet<ConversationExecutionStatus> = new Set(['paused', 'error', 'stuck'])

/**
 * Returns the topic of a commit. `before` is null for a new conversation, `after` for a deleted one; `isEdited`: its title
 * or tags were set.
 */
export function topicOf(
  before: ConversationExecutionStatus | null,
  after: ConversationExecutionStatus | null,
  isEdited = false,
): Topic | null {
  if (before === null) return 'conversation.started'
  if (after === null) return 'conversation.deleted'
  if (after === 'paused' && before !== 'paused') return 'conversation.paused'
  if (after === 'running' && STOPPED.has(before)) return 'conversation.resumed'
  return isEdited ? 'conversation.updated' : null
}

/**
 * The notification of a topic: the whole record after the commit, secrets hidden as in REST responses, skills in full,
 * `sub_conversation_ids` and the lists of the metrics empty.
 */
export function notification(topic: Topic, sources: Omit<InfoSources, 'children' | 'usage'>): OutboxDraft {
  const info = conversationInfo({ ...sources, children: [] })
  const payload = topic === 'conversation.deleted' ? { ...info, execution_status: 'deleting' as const } : info
  return { topic: topic, payload: JSON.stringify(payload) }
}
