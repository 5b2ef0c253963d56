/**
 * Chooses the next message for a prompt and converts it. Pure. Source: agent-core.md 11.5, 11.6.
 *
 * Invariants
 *   P1. The event that closes a turn has the id of the answered message in its response id. So the branch shows which messages
 *       were answered, also after a rewind or a fork (F36).
 *   P2. Each message is a separate turn, in the order of the branch.
 */
import { randomBytes } from 'node:crypto'
import type { EventId, MessageEvent, TreeEvent } from '@parley/protocol'

const CLOSING = /^acp_turn_(.+)_[0-9a-f]{8}$/

/** Returns a response id for a turn that answers this message. */
export const turnId = (message: EventId): string => `acp_turn_${message}_${randomBytes(4).toString('hex')}`

/** True when an event is a message to the agent: from a person or from the service, such as the text of a stop hook. */
const isPrompt = (event: TreeEvent): event is MessageEvent =>
  event.kind === 'MessageEvent' && event.source !== 'agent' && hasContent(event)

const hasContent = ({ llm_message, extended_content }: MessageEvent): boolean =>
  [...llm_message.content, ...extended_content].some((part) => part.type === 'image' || part.text.trim() !== '')

/** Id of the message whose turn this event closes; null: it closes none. */
function answered(event: TreeEvent): string | null {
  if (!('llm_response_id' in event) || event.llm_response_id === null) return null
  return CLOSING.exec(event.llm_response_id)?.[1] ?? null
}

/** The next message to send, and the number of messages after it; null: none. */
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

/** True when an event is on the branch; searches from the end. */
export function isOnBranch(view: readonly TreeEvent[], id: string): boolean {
  for (let at = view.length - 1; at >= 0; at--) if (view[at]!.id === id) return true
  return false
}

export type PromptBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; mimeType: string; data: string }
  | { type: 'resource_link'; uri: string; name: string }

const DATA_URL = /^data:([\w.+/-]+)(?:;[\w=.+-]+)*;base64,(.+)$/s

/** The message as prompt blocks; blank texts are left out. */
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

/** Warning in front of a message that is sent again. */
export const INTERRUPTED =
  '[The service: an earlier attempt to answer this message was interrupted, and part of the work may have been done already. ' +
  'Look at the state of things before you repeat anything.]'
