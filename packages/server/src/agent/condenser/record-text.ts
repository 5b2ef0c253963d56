/** Events as text that another model can read, each no longer than it is worth. Pure. */
import type { ContentPart, TreeEvent } from '@parley/protocol'
import { isAnswer } from '../native/pairing.ts'
import { renderAnswer } from '../native/render.ts'
import { truncateMiddle } from '../native/truncate.ts'

/** Characters that are kept of each event, by what it is. */
export type Caps = { summary: number; person: number; recent: number; other: number }

/** A person's words and an earlier summary cannot be found again elsewhere; of results the newest matter most (F62). */
export const CAPS: Caps = { summary: 40_000, person: 10_000, recent: 6_000, other: 1_500 }
/** As much as there is. */
export const UNCAPPED: Caps = { summary: Infinity, person: Infinity, recent: Infinity, other: Infinity }

/** Events at the end that count as recent. */
const RECENT = 6
const LEAST_CHARS = 200

/** The events in their order, in all at most about `maxChars` long. Nothing in them can end their own element (F62). */
export function recordText(events: readonly TreeEvent[], caps: Caps, maxChars: number): string {
  const texts = events.map((event, index) => {
    const cap = capFor(event, index >= events.length - RECENT, caps)
    return { head: headOf(event), body: escaped(truncateMiddle(textOf(event), cap)) }
  })
  const cap = capThatFits(
    texts.map(({ body }) => body.length),
    maxChars,
  )
  return texts.map(({ head, body }) => `<event ${head}>\n${truncateMiddle(body, cap)}\n</event>`).join('\n')
}

/** The length of the longest event, as text. */
export const longestOf = (events: readonly TreeEvent[]): number =>
  Math.max(0, ...events.map((event) => textOf(event).length))

function capFor(event: TreeEvent, isRecent: boolean, caps: Caps): number {
  if (event.kind === 'CondensationSummaryEvent') return caps.summary
  if (event.kind === 'MessageEvent' && event.source === 'user') return caps.person
  return isRecent ? caps.recent : caps.other
}

/** What the longest texts have to be cut to, so that all together fit; the short ones stay whole. */
function capThatFits(lengths: readonly number[], maxChars: number): number {
  let room = maxChars
  const ascending = lengths.toSorted((a, b) => a - b)
  for (const [index, length] of ascending.entries()) {
    const share = room / (ascending.length - index)
    if (length > share) return Math.max(LEAST_CHARS, Math.floor(share))
    room -= length
  }
  return Infinity
}

function headOf(event: TreeEvent): string {
  if (isAnswer(event)) return `from="tool" tool="${escaped(event.tool_name)}"`
  switch (event.kind) {
    case 'MessageEvent':
      return `from="${{ user: 'person', agent: 'agent', environment: 'service', hook: 'service' }[event.source]}"`
    case 'ActionEvent':
      return `from="agent" calls="${escaped(event.tool_name)}"`
    case 'CondensationSummaryEvent':
      return 'from="earlier summary"'
    default:
      return 'from="service"'
  }
}

function textOf(event: TreeEvent): string {
  if (isAnswer(event)) return plain(renderAnswer(event).content)
  switch (event.kind) {
    case 'MessageEvent':
      return contentText([...event.llm_message.content, ...event.extended_content])
    case 'ActionEvent': {
      const thought = contentText(event.thought)
      return `${thought === '' ? '' : `${thought}\n`}${event.tool_call.name} ${event.tool_call.arguments}`
    }
    case 'CondensationSummaryEvent':
      return event.summary
    case 'SystemPromptEvent':
      return event.system_prompt.text
    default:
      return ''
  }
}

const contentText = (content: readonly ContentPart[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n')

const plain = (content: readonly ({ type: 'text'; text: string } | { type: 'image' })[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n')

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
