/** Converts a conversation to chat messages for an external monitor, newest last, with a size limit. Pure. Source: agent-core.md 4.9; F26. */
import type { ImageContent, TextContent, TreeEvent } from '@parley/protocol'
import type { AnalysisContext, AnalyzedCall } from './analyzer.ts'

type Call = { id: string; type: 'function'; function: { name: string; arguments: string } }
export type VendorMessage =
  | { role: 'system' | 'user' | 'assistant'; content: string; tool_calls?: Call[] }
  | { role: 'tool'; tool_call_id: string; content: string }

export type VendorLimits = { history_limit: number; max_message_chars: number }

/** The newest events, then the call. `isCut`: the call did not fit and is incomplete. */
export function vendorMessages(
  call: AnalyzedCall,
  { history, earlier }: Pick<AnalysisContext, 'history' | 'earlier'>,
  { history_limit, max_message_chars }: VendorLimits,
): { messages: VendorMessage[]; isCut: boolean } {
  const before = [...history.map(fromEvent), ...earlier.map(fromCall)]
  const newest = history_limit > 0 ? before.slice(-history_limit) : []
  const messages = [...newest.filter((message) => message !== null), fromCall(call)]
  const kept: VendorMessage[] = []
  let left = Math.max(0, max_message_chars)
  let isCut = false
  for (const message of messages.toReversed()) {
    const size = sizeOf(message)
    if (size > left) {
      isCut ||= kept.length === 0
      if (left > 0) kept.push(cut(message, left))
      break
    }
    kept.push(message)
    left -= size
  }
  return { messages: kept.reverse(), isCut }
}

function fromCall({ tool_call, thought }: AnalyzedCall): VendorMessage {
  return withCall(thought, tool_call)
}

/** An assistant message with the call, without the model's own risk estimate, which would influence the monitor. */
function withCall(content: string, { id, name, arguments: text }: AnalyzedCall['tool_call']): VendorMessage {
  return {
    role: 'assistant',
    content,
    tool_calls: [{ id, type: 'function', function: { name, arguments: withoutRisk(text) } }],
  }
}

function withoutRisk(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || !('security_risk' in parsed))
      return text
    const { security_risk: _, ...rest } = parsed
    return JSON.stringify(rest)
  } catch {
    // Text that is not JSON is passed on unchanged.
    return text
  }
}

function fromEvent(event: TreeEvent): VendorMessage | null {
  switch (event.kind) {
    case 'SystemPromptEvent':
      return { role: 'system', content: event.system_prompt.text }
    case 'MessageEvent': {
      if (event.source !== 'user' && event.source !== 'agent') return null
      const content = textOf(event.llm_message.content)
      return content === '' ? null : { role: event.source === 'user' ? 'user' : 'assistant', content }
    }
    case 'ActionEvent':
      return withCall(textOf(event.thought), event.tool_call)
    case 'ObservationEvent':
      return { role: 'tool', tool_call_id: event.tool_call_id, content: textOf(event.observation.content) }
    case 'AgentErrorEvent':
      return { role: 'tool', tool_call_id: event.tool_call_id, content: event.error }
    case 'UserRejectObservation':
      return { role: 'tool', tool_call_id: event.tool_call_id, content: `Action rejected: ${event.rejection_reason}` }
    default:
      return null
  }
}

const textOf = (content: readonly (TextContent | ImageContent)[]): string =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ')

const callsOf = (message: VendorMessage): readonly Call[] => ('tool_calls' in message ? (message.tool_calls ?? []) : [])

const sizeOf = (message: VendorMessage): number =>
  message.content.length + callsOf(message).reduce((sum, call) => sum + call.function.arguments.length, 0)

/** Cuts a message to a size; the arguments of a call have precedence over its text. */
function cut(message: VendorMessage, size: number): VendorMessage {
  const [call] = callsOf(message)
  if (call === undefined) return { ...message, content: message.content.slice(0, size) }
  const text = call.function.arguments.slice(0, size)
  const shortened = { ...call, function: { ...call.function, arguments: text } }
  return { role: 'assistant', content: message.content.slice(0, size - text.length), tool_calls: [shortened] }
}
