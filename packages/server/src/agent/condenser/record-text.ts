/** Writes events as a text for another model, with a length limit for each kind of event. Pure. */
import { textOf, type TreeEvent } from '@parley/protocol'
import { isCallResult } from '../view/pairing.ts'
import { renderResult } from '../view/render.ts'
import { truncateMiddle } from '../truncate.ts'

/**
 * Characters that are kept of each event, by kind. `recent` and `other` apply to everything but summaries and messages of a
 * person.
 */
export type Caps = { summary: number; person: number; recent: number; other: number }

/** Messages of a person and earlier summaries cannot be found again elsewhere; of results the newest matter most (F62). */
export const CAPS: Caps = { summary: 40_000, person: 40_000, recent: 6_000, other: 1_500 }
export const UNCAPPED: Caps = { summary: Infinity, person: Infinity, recent: Infinity, other: Infinity }

/** Events at the end that count as recent. */
const RECENT = 6
const LEAST_CHARS = 80
/** Share of a record that is too long for what cannot be found again elsewhere. */
const LASTING_SHARE = 0.7
const SHOWN = { other: '[image]' }

/**
 * Returns the events in order, about `maxChars` characters at most: the longest texts are cut, those that can be found again before those
 * that cannot. The text of an event cannot close its element (F62).
 */
export function recordText(events: readonly TreeEvent[], caps: Caps, maxChars: number): string {
  const elements = events.map((event, index) => {
    const cap = capFor(event, index >= events.length - RECENT, caps)
    return {
      isLasting: isLasting(event),
      start: `<event ${headOf(event)}>\n`,
      text: escaped(truncateMiddle(textOfEvent(event), cap)),
    }
  })
  const lengths = (lasting: boolean) =>
    elements.flatMap(({ isLasting, text }) => (isLasting === lasting ? [text.length] : []))
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)
  const room = maxChars - sum(elements.map(({ start }) => start.length + END.length))
  const forLasting = Math.min(sum(lengths(true)), Math.max(room * LASTING_SHARE, room - sum(lengths(false))))
  const lasting = capThatFits(lengths(true), forLasting)
  const other = capThatFits(lengths(false), room - forLasting)
  return elements
    .map(({ isLasting, start, text }) => start + truncateMiddle(text, isLasting ? lasting : other) + END)
    .join('\n')
}

const END = '\n</event>'

const isOfPerson = (event: TreeEvent): boolean => event.kind === 'MessageEvent' && event.source === 'user'

/** Returns whether the event cannot be found again elsewhere. */
const isLasting = (event: TreeEvent): boolean => event.kind === 'CondensationSummaryEvent' || isOfPerson(event)

function capFor(event: TreeEvent, isRecent: boolean, caps: Caps): number {
  if (event.kind === 'CondensationSummaryEvent') return caps.summary
  if (isOfPerson(event)) return caps.person
  return isRecent ? caps.recent : caps.other
}

/** The length to which the longest texts are cut, so that all together fit; shorter texts stay whole. */
function capThatFits(lengths: readonly number[], maxChars: number): number {
  let left = maxChars
  const ascending = lengths.toSorted((a, b) => a - b)
  for (const [index, length] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (length > share) return Math.max(LEAST_CHARS, Math.floor(share))
    left -= length
  }
  return Infinity
}

function headOf(event: TreeEvent): string {
  if (isCallResult(event)) return `from="tool" tool="${escaped(event.tool_name)}"`
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

/** The text of an event, without that of images. */
export function textOfEvent(event: TreeEvent): string {
  if (isCallResult(event)) return textOf(renderResult(event).content, SHOWN)
  switch (event.kind) {
    case 'MessageEvent':
      return textOf([...event.llm_message.content, ...event.extended_content], SHOWN)
    case 'ActionEvent': {
      const thought = textOf(event.thought, SHOWN)
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

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
