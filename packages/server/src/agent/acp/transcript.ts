/** What happened so far, for a session that does not remember it. Pure. Source: agent-core.md 11.14. */
import type { ACPToolCallEvent, TreeEvent } from '@parley/protocol'

const MARK = '<<RESUMED CONVERSATION>>'
const HEAD =
  'You worked on this conversation before, and your memory of it was lost. This is what was said and done, oldest first:'
const FOOT = 'That is all of it. Do not answer it again; go on with the message that follows.'

const MAX_MESSAGE_CHARS = 8000
const MAX_CALL_CHARS = 2000
const MAX_CHARS = 60_000

/** Empty when nothing was said before, or when there is room for nothing. */
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
      // Ids may repeat from one session to the next, so that only those between two messages are the same call.
      calls.set(event.tool_call_id, event)
      continue
    }
    const said = messageText(event)
    if (said === null) continue
    flush()
    blocks.push(said)
  }
  flush()
  if (blocks.length === 0) return ''
  return framed(blocks, maxChars)
}

/** The newest text that fits between head and foot. */
function framed(blocks: readonly string[], maxChars: number): string {
  const frame = (inner: string) => [MARK, HEAD, inner, FOOT].join('\n\n')
  const room = maxChars - frame('').length
  if (room <= 0) return ''
  const whole = blocks.join('\n\n')
  return frame(whole.length <= room ? whole : whole.slice(whole.length - room))
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
    ...(raw_input === null ? [] : [`input: ${said(raw_input)}`]),
    ...(content === null ? [] : [`content: ${said(content)}`]),
    ...(raw_output === null ? [] : [`output: ${said(raw_output)}`]),
  ]
  return cut(parts.join('\n'), MAX_CALL_CHARS)
}

const said = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
const cut = (text: string, chars: number): string => (text.length <= chars ? text : `${text.slice(0, chars - 1)}…`)
