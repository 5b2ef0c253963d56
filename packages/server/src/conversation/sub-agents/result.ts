/** How the work of a sub-agent ended, read from its log. Source: agent-core.md 12.1 (3), (g). */
import type { ConversationId, EventId } from '@parley/protocol'
import type { SubAgentEnd } from '../../tools/index.ts'
import type { EventStore } from '../../storage/index.ts'
import { ancestors } from '../branch/reader.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { SubAgentOrigin } from '../record/record.ts'

/** `work`: the message that set it to work, before which nothing counts; null: its first one. */
export async function resultOf(
  events: EventStore,
  child: LiveConversation,
  origin: SubAgentOrigin,
  work: EventId | null,
): Promise<SubAgentEnd> {
  const state = child.state()
  const { text, since } = await lastWords(events, child.id, state.leaf_event_id, work)
  const status = state.execution_status
  const end = { conversation_id: child.id, name: origin.name, type: origin.type, status, text }
  const blocked = state.blocked_messages[state.last_user_message_id ?? '']
  if (blocked !== undefined) return { ...end, reason: `A hook blocked the prompt: ${blocked}` }
  if (status === 'finished') return { ...end, reason: null }
  const [newest] = await events.newest(child.id, 'ConversationErrorEvent', 1)
  const told = newest !== undefined && newest.seq > since ? newest.event : null
  const reason =
    told?.kind === 'ConversationErrorEvent' ? told.detail : state.start?.status === 'failed' ? state.start.detail : null
  return { ...end, reason: reason ?? SAID[status] ?? 'It stopped without finishing.' }
}

const SAID: Partial<Record<SubAgentEnd['status'], string>> = {
  paused: 'It was paused before it had finished.',
  stuck: 'It repeated itself without getting on.',
  deleting: 'It was deleted before it had finished.',
}

/** The finish message, or the agent's last one; `since` is the seq of the message that set it to work. */
async function lastWords(
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
