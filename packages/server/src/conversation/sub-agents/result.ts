/** How the work of a sub-agent ended, read from its log. Source: agent-core.md 12.1. */
import type { ConversationId, EventId } from '@parley/protocol'
import type { SubAgentEnd } from '../../tools/index.ts'
import type { EventStore } from '../../storage/index.ts'
import { ancestors } from '../branch/reader.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { SubAgentOrigin } from '../record/record.ts'

/** @param work the message that assigned the work, before which nothing counts; null: the first message */
export async function resultOf(
  events: EventStore,
  child: LiveConversation,
  origin: SubAgentOrigin,
  work: EventId | null,
): Promise<SubAgentEnd> {
  const state = child.state()
  const { text, since } = await finalText(events, child.id, state.leaf_event_id, work)
  const status = state.execution_status
  const end = { conversation_id: child.id, name: origin.name, type: origin.type, status, text }
  const blocked = state.blocked_messages[state.last_user_message_id ?? '']
  if (blocked !== undefined) return { ...end, reason: `A hook blocked the prompt: ${blocked}` }
  if (status === 'finished') return { ...end, reason: null }
  const [newest] = await events.newest(child.id, 'ConversationErrorEvent', 1)
  const failure = newest !== undefined && newest.seq > since ? newest.event : null
  const reason =
    failure?.kind === 'ConversationErrorEvent'
      ? failure.detail
      : state.start?.status === 'failed'
        ? state.start.detail
        : null
  return { ...end, reason: reason ?? DEFAULT_REASONS[status] ?? 'It stopped without finishing.' }
}

const DEFAULT_REASONS: Partial<Record<SubAgentEnd['status'], string>> = {
  paused: 'It was paused before it had finished.',
  stuck: 'It repeated itself without getting on.',
  deleting: 'It was deleted before it had finished.',
}

/** Text of the finish, or the agent's last message; `since` is the seq of the message that assigned the work. */
async function finalText(
  events: EventStore,
  id: ConversationId,
  leaf: EventId | null,
  work: EventId | null,
): Promise<{ text: string; since: number }> {
  let text: string | null = null
  if (leaf === null) return { text: '', since: 0 }
  for await (const { seq, event } of ancestors(events, id, leaf)) {
    if (event.id === work) return { text: text ?? '', since: seq }
    if (text !== null) {
      if (work === null) break
      continue
    }
    if (event.kind === 'ActionEvent' && event.tool_name === 'finish')
      text = event.action !== null && 'message' in event.action ? String(event.action.message) : ''
    else if (event.kind === 'MessageEvent' && event.source === 'agent')
      text = event.llm_message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  }
  return { text: text ?? '', since: 0 }
}
