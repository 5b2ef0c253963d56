/**
 * Which message is asked next, and as what. Pure. Source: agent-core.md 11.5, 11.6.
 *
 * Invariants
 *   P1. What closes a turn names the message that it answered, in its response id. So the branch itself says how far it was
 *       asked, also after somebody moved to another point of it or forked it (F36).
 *   P2. Each message is a turn of its own, in the order of the branch.
 */
import { randomBytes } from 'node:crypto'
import type { EventId, MessageEvent, TreeEvent } from '@parley/protocol'

const CLOSING = /^acp_turn_(.+)_[0-9a-f]{8}$/

/** The response id of a turn that asks about this message. */
export const turnId = (message: EventId): string => `acp_turn_${message}_${randomBytes(4).toString('hex')}`

/** A word to the agent: a person's, or the service's own, such as what a stop hook said. */
const isPrompt = (event: TreeEvent): event is MessageEvent =>
  event.kind === 'MessageEvent' && event.source !== 'agent' && saysSomething(event)

const saysSomething = ({ llm_message, extended_content }: MessageEvent): boolean =>
  [...llm_message.content, ...extended_content].some((part) => part.type === 'image' || part.text.trim() !== '')

/** The message that a turn closed with this event has answered; null for every other event. */
function answered(event: TreeEvent): string | null {
  if (!('llm_response_id' in event) || event.llm_response_id === null) return null
  return CLOSING.exec(event.llm_response_id)?.[1] ?? null
}

/** The next message to ask about, and how many more wait behind it; null when there is none. */
export function nextPrompt(view: readonly TreeEvent[]): { message: MessageEvent; waiting: number } | null {
  let cursor: string | null = null
  const later: MessageEvent[] = []
  for (let at = view.length - 1; at >= 0; at--) {
    const event = view[at]!
    cursor ??= answered(event)
    if (!isPrompt(event)) continue
    if (event.id === cursor) break
    later.push(event)
  }
  const message = later.pop()
  return message === undefined ? null : { message, waiting: later.length }
}

/** Whether an event is on the branch; looks from its end. */
export function isOn(view: readonly TreeEvent[], id: string): boolean {
  for (let at = view.length - 1; at >= 0; at--) if (view[at]!.id === id) return true
  return false
}

export type PromptBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; mimeType: string; data: string }
  | { type: 'resource_link'; uri: string; name: string }

const DATA_URL = /^data:([\w.+/-]+)(?:;[\w=.+-]+)*;base64,(.+)$/s

/** The message as the agent gets it; blank texts are left out. */
export function promptBlocks(
  { llm_message, extended_content }: MessageEvent,
  { images }: { images: boolean },
): PromptBlock[] {
  return [...llm_message.content, ...extended_content].flatMap((part): PromptBlock[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }]
    if (!images) return [{ type: 'text', text: '[An image was attached. This agent says that it takes none.]' }]
    return part.image_urls.map((url, index) => {
      const [, mimeType, data] = DATA_URL.exec(url) ?? []
      if (mimeType !== undefined && data !== undefined) return { type: 'image', mimeType, data }
      return { type: 'resource_link', uri: url, name: `image ${index + 1}` }
    })
  })
}

/** Stands before a message that is asked again. */
export const INTERRUPTED =
  '[The service: an earlier attempt to answer this message was interrupted, and part of the work may have been done already. ' +
  'Look at the state of things before you repeat anything.]'
