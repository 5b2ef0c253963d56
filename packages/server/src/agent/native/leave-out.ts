/**
 * Decides which part of a conversation is left out after a server refused it. Pure. Source: agent-core.md 1.9.
 *
 * Rules
 *   R1. Exactly the part that the server names is left out.
 *   R2. Where it does not say which, the images after the last answer are meant, because the server took the earlier ones; after them all
 *       images, and all reasoning.
 *   R3. Nothing is left out twice: what remains refused fails the run.
 */
import type { Draft, EventId, LeftOut, TreeEvent } from '@parley/protocol'
import { imageMark, LlmError, reasoningMark, type RefusedPart } from '../../llm/index.ts'
import { warning } from '../drafts.ts'
import { imagesOf } from '../view/left-out.ts'

/** Characters of the server's text that are kept with each part. */
const REASON_CHARS = 300

type Place = { event_id: EventId; index: number; reason?: string }

export type LeaveOutDeps = {
  view: readonly TreeEvent[]
  known: readonly LeftOut[]
  /** Names of the tools that were offered, with their origin. */
  tools: readonly { name: string; origin: string | null }[]
}

/** Drafts that leave a refused part out; null when the error names none, or nothing is left to leave out. */
export function leaveOut(error: unknown, deps: LeaveOutDeps): Draft[] | null {
  const added = refusedParts(error, deps)
  if (added.length === 0) return null
  const value = [...deps.known, ...added]
  const { message } = error as LlmError
  return [
    { kind: 'StateChangedEvent', source: 'environment', key: 'left_out', value },
    warning({ code: 'LLMPartLeftOut', detail: `${described(added)} is not sent to models any more: ${message}` }),
  ]
}

/** The parts to leave out after an error; empty when it names none, or nothing is left to leave out. */
export function refusedParts(error: unknown, deps: LeaveOutDeps): LeftOut[] {
  if (!(error instanceof LlmError) || error.refused === null) return []
  return partsOf(error.refused, deps).map(({ reason = error.message, ...part }): LeftOut => ({
    ...part,
    reason: reason.replaceAll(/\s+/g, ' ').slice(0, REASON_CHARS),
  }))
}

/** A part with a reason of its own, if it has one. */
type Explained = LeftOut extends infer P ? (P extends LeftOut ? Omit<P, 'reason'> & { reason?: string } : never) : never

function partsOf(refused: RefusedPart, { view, known, tools }: LeaveOutDeps): Explained[] {
  const { part, marks } = refused
  switch (part) {
    case 'image':
      return refusedImages(view, known, refused).map((place) => ({ part, ...place }))
    case 'reasoning':
      return refusedReasoning(view, known, new Set(marks)).map((event_id) => ({ part, event_id }))
    case 'tool': {
      const isKnown = ({ name, origin }: { name: string; origin: string | null }) =>
        known.some((other) => other.part === 'tool' && other.name === name && other.origin === origin)
      return tools.filter((tool) => marks.includes(tool.name) && !isKnown(tool)).map((tool) => ({ part, ...tool }))
    }
  }
}

function refusedImages(
  view: readonly TreeEvent[],
  known: readonly LeftOut[],
  { marks, keeps, reasons }: RefusedPart,
): Place[] {
  const gone = new Set(known.map((part) => (part.part === 'image' ? `${part.event_id} ${part.index}` : '')))
  const lastAnswer = view.findLastIndex(
    ({ kind, source }) => kind === 'ActionEvent' || (kind === 'MessageEvent' && source === 'agent'),
  )
  const shown = view
    .flatMap((event, at) =>
      imagesOf(event).map((url, index) => ({ event_id: event.id, index, url, isNew: at > lastAnswer })),
    )
    .filter(({ event_id, index }) => !gone.has(`${event_id} ${index}`))
  const wanted = new Set(marks)
  type Image = (typeof shown)[number]
  const placeOf = ({ event_id, index }: Image): Place => ({ event_id, index })
  const placesNamed = (image: Image, mark: string): Place[] => {
    const reason = reasons?.get(mark)
    return wanted.has(mark) ? [{ ...placeOf(image), ...(reason === undefined ? {} : { reason }) }] : []
  }
  if (keeps !== undefined) return shown.slice(0, Math.max(0, shown.length - keeps)).map(placeOf)
  const named = marks.length === 0 ? [] : shown.flatMap((image) => placesNamed(image, imageMark(image.url)))
  if (named.length > 0) return named
  const newest = shown.filter(({ isNew }) => isNew)
  return (newest.length > 0 ? newest : shown).map(placeOf)
}

function refusedReasoning(
  view: readonly TreeEvent[],
  known: readonly LeftOut[],
  marks: ReadonlySet<string>,
): EventId[] {
  const gone = new Set(known.map((part) => (part.part === 'reasoning' ? part.event_id : null)))
  const shown = view
    .map((event) => ({ id: event.id, seals: sealsOf(event) }))
    .filter(({ id, seals }) => seals.length > 0 && !gone.has(id))
  const named = shown.filter(({ seals }) => seals.some((seal) => marks.has(reasoningMark(seal))))
  return (named.length > 0 ? named : shown).map(({ id }) => id)
}

/** Signatures, encrypted content and ids of the reasoning of an answer. */
function sealsOf(event: TreeEvent): string[] {
  if (event.kind !== 'ActionEvent' && event.kind !== 'MessageEvent') return []
  const older = event.kind === 'ActionEvent' ? event : event.llm_message
  const item = older.responses_reasoning_item
  const parts = (event.raw_answer?.parts ?? []).flatMap((part) =>
    part.type === 'reasoning' ? [part.signature, part.redacted, part.encrypted, part.item] : [part.signature],
  )
  const blocks = older.thinking_blocks.flatMap((block) => [block.type === 'thinking' ? block.signature : block.data])
  return [...parts, ...blocks, item?.id, item?.encrypted_content].filter(
    (seal): seal is string => typeof seal === 'string' && seal !== '',
  )
}

function described(added: readonly LeftOut[]): string {
  const [first] = added
  if (first?.part === 'tool') {
    const server = first.origin === null ? '' : ` of the MCP server '${first.origin.split('#')[0]}'`
    return `The tool '${first.name}'${server}`
  }
  const what = first?.part === 'image' ? 'image' : 'reasoning'
  if (what === 'reasoning')
    return `The reasoning of ${added.length === 1 ? 'an earlier answer' : `${added.length} earlier answers`}`
  return added.length === 1 ? 'An image' : `A group of ${added.length} images`
}
