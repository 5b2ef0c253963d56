/** Transcript of the conversation for a session that does not remember it. Pure. Source: agent-core.md 11.14. */
import type { ACPToolCallEvent, TreeEvent } from '@parley/protocol'

const MARK = '<<RESUMED CONVERSATION>>'
const HEAD =
  'You worked on this conversation before, and your memory of it was lost. This is what was said and done, oldest first:'
const FOOT = 'That is all of it. Do not answer it again; go on with the message that follows.'

const MAX_MESSAGE_CHARS = 8000
const MAX_CALL_CHARS = 2000
const MAX_CHARS = 60_000

/** The transcript as one text; empty without earlier messages, or when `maxChars` is too small. */
export function transcript(events: readonly TreeEvent[], maxChars = MAX_CHARS): string {
  const blocks: string[] = []
  let calls = new Map<string, ACPToolCallEvent>()
  const flush = () => {
    for (const call of calls.values()) {
      const text = callText(call)
      if (text !== null) blocks.push(text)
    }
    calls = new Map()
  }
  for (const event of events) {
    if (event.kind === 'ACPToolCallEvent') {
      // Ids may repeat from one session to the next, so only equal ids between two messages are the same call.
      calls.set(event.tool_call_id, event)
      continue
    }
    const text = messageText(event)
    if (text === null) continue
    flush()
    blocks.push(text)
  }
  flush()
  if (blocks.length === 0) return ''
  return framed(blocks, maxChars)
}

/** The newest part of the text that fits between head and foot. */
function framed(blocks: readonly string[], maxChars: number): string {
  const frame = (inner: string) => [MARK, HEAD, inner, FOOT].join('\n\n')
  const available = maxChars - frame('').length
  if (available <= 0) return ''
  const whole = blocks.join('\n\n')
  return frame(whole.length <= available ? whole : whole.slice(whole.length - available))
}

function messageText(event: TreeEvent): string | null {
  if (event.kind === 'ActionEvent' && event.action?.kind === 'FinishAction')
    return `Assistant: ${cut(event.action.message, MAX_MESSAGE_CHARS)}`
  if (event.kind !== 'MessageEvent') return null
  const text = event.llm_message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  if (text.trim() === '' || text.includes(MARK)) return null
  return `${event.source === 'agent' ? 'Assistant' : 'User'}: ${cut(text, MAX_MESSAGE_CHARS)}`
}

function callText({ title, status, raw_input, raw_output, content, is_error }: ACPToolCallEvent): string | null {
  if (raw_input === null && raw_output === null && content === null && !is_error) return null
  const parts = [
    `Tool call: ${title} (${status ?? 'unknown'})`,
    ...(raw_input === null ? [] : [`input: ${valueText(raw_input)}`]),
    ...(content === null ? [] : [`content: ${valueText(content)}`]),
    ...(raw_output === null ? [] : [`output: ${valueText(raw_output)}`]),
  ]
  return cut(parts.join('\n'), MAX_CALL_CHARS)
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
const cut = (text: string, chars: number): string => (text.length <= chars ? text : `${text.slice(0, chars - 1)}…`)
