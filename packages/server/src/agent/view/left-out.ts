/**
 * Events without the parts that a server refused. Pure. Source: agent-core.md 1.9.
 *
 * Invariants
 *   L1. An event without such a part is returned itself.
 *   L2. A text stands in the place of an image, so that the model knows of it.
 */
import {
  textContent,
  type ContentPart,
  type EventId,
  type LeftOut,
  type RawAnswer,
  type TreeEvent,
} from '@parley/protocol'

/** Gemini's own word for a call that it did not sign: https://ai.google.dev/gemini-api/docs/thought-signatures */
const UNSIGNED = 'skip_thought_signature_validator'

/** What is left out, by event. */
export type LeftOutIndex = ReadonlyMap<EventId, readonly LeftOut[]>

export function leftOutByEvent(parts: readonly LeftOut[]): LeftOutIndex {
  const index = new Map<EventId, LeftOut[]>()
  for (const part of parts)
    if (part.part !== 'tool') index.set(part.event_id, [...(index.get(part.event_id) ?? []), part])
  return index
}

export function withoutLeftOut<E extends TreeEvent>(event: E, index: LeftOutIndex): E {
  const parts = index.get(event.id)
  if (parts === undefined) return event
  const images = new Map(parts.flatMap((part) => (part.part === 'image' ? [[part.index, part.reason] as const] : [])))
  const textFor = (index: number) => (images.has(index) ? `[An image is left out: ${images.get(index)}]` : null)
  const seen = images.size === 0 ? event : withImagesReplaced(event, textFor)
  return parts.some(({ part }) => part === 'reasoning') ? withoutReasoning(seen) : seen
}

/** The images of an event, in the order in which their numbers count. */
export function imagesOf(event: TreeEvent): string[] {
  return contentOf(event).flatMap((part) => (part.type === 'image' ? part.image_urls : []))
}

function contentOf(event: TreeEvent): readonly ContentPart[] {
  if (event.kind === 'MessageEvent') return event.llm_message.content
  return event.kind === 'ObservationEvent' ? event.observation.content : []
}

/** The event with a text in place of images. @param textFor the text for an image, by its number; null: the image stays */
export function withImagesReplaced<E extends TreeEvent>(event: E, textFor: (index: number) => string | null): E {
  let index = 0
  const content = contentOf(event).flatMap((part): ContentPart[] => {
    if (part.type !== 'image') return [part]
    return part.image_urls.map((url) => {
      const text = textFor(index++)
      return text === null ? { ...part, image_urls: [url] } : textContent(text)
    })
  })
  if (event.kind === 'MessageEvent') return { ...event, llm_message: { ...event.llm_message, content } }
  return event.kind === 'ObservationEvent' ? { ...event, observation: { ...event.observation, content } } : event
}

function withoutReasoning<E extends TreeEvent>(event: E): E {
  if (event.kind === 'ActionEvent') {
    const { raw_answer: raw, ...others } = event
    return { ...others, ...unsigned(raw), thinking_blocks: [], responses_reasoning_item: null } as unknown as E
  }
  if (event.kind !== 'MessageEvent') return event
  const { raw_answer: raw, ...others } = event
  const llm_message = { ...event.llm_message, thinking_blocks: [], responses_reasoning_item: null }
  return { ...others, ...unsigned(raw), llm_message } as unknown as E
}

/** Gemini refuses a call without a signature, so a call that it has signed gets the one that skips the check. */
function unsigned(raw: RawAnswer | undefined): { raw_answer?: RawAnswer } {
  if (raw?.origin.api !== 'google') return {}
  const calls = raw.parts.flatMap((part) =>
    part.type === 'call' && part.signature !== undefined ? [{ ...part, signature: UNSIGNED }] : [],
  )
  return calls.length === 0 ? {} : { raw_answer: { origin: raw.origin, parts: calls } }
}
