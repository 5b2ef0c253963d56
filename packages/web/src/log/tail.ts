/** The answer that is being written: its pieces are appended until the stored event replaces them. Pure. */
import { listOf, membersOf, numberOf, textOf } from './read.ts'

type Kind = 'content' | 'reasoning_content'
/** `skipped`: characters before `text` that the server did not keep. */
type Part = { readonly kind: Kind; readonly text: string; readonly skipped: number }

/** `key`: that of its row; the stored event takes it over. */
export type Tail = {
  readonly key: string
  /** Identifies the answer; empty on a server that does not send it. */
  readonly response: string
  readonly parts: readonly (Part | undefined)[]
  readonly text: string
  readonly reasoning: string
  /** Milliseconds since 1970 of the first piece. */
  readonly since: number
  /** The stream was cut: the text so far stays until it is continued or replaced. */
  readonly isBroken: boolean
  /** Name of a tool whose arguments are being written; empty when none. */
  readonly tool: string
}

/** A tail without text. */
export const emptyTail = (key: string, now: number): Tail => ({
  key,
  response: '',
  parts: [],
  text: '',
  reasoning: '',
  since: now,
  isBroken: false,
  tool: '',
})

/** The tail with a `delta` frame, which replaces what was known of its part from its offset on. */
export function withDelta(known: Tail, frame: unknown): Tail {
  const members = membersOf(frame)
  const tail = ofResponse(known, textOf(members['response_id']))
  const kind: Kind = typeof members['reasoning_content'] === 'string' ? 'reasoning_content' : 'content'
  const piece = textOf(members[kind])
  if (piece === '') return tail
  const index = numberOf(members['part']) ?? lastOf(tail.parts, kind)
  const part = tail.parts[index] ?? { kind, text: '', skipped: 0 }
  const at = numberOf(members['offset']) ?? part.skipped + part.text.length
  // The beginning of a part is unknown to a client that joined late, on a server that does not send it.
  const skipped = part.text === '' ? at : part.skipped
  const parts = [...tail.parts]
  parts[index] = { kind, skipped, text: part.text.slice(0, Math.max(0, at - skipped)) + piece }
  return { ...withParts(tail, parts), tool: '' }
}

/** The tail with the whole text so far, which a server sends to a client that joins in the middle of an answer. */
export function withPartial(known: Tail, frame: unknown): Tail {
  const members = membersOf(frame)
  const tail = ofResponse(known, textOf(members['response_id']))
  const parts: Part[] = []
  for (const item of listOf(members['parts']).map(membersOf)) {
    const kind: Kind = item['kind'] === 'reasoning_content' ? 'reasoning_content' : 'content'
    parts[numberOf(item['part']) ?? parts.length] = {
      kind,
      text: textOf(item['text']),
      skipped: numberOf(item['offset']) ?? 0,
    }
  }
  const call = membersOf(listOf(members['tool_calls']).at(-1))
  return { ...withParts(tail, parts), tool: textOf(call['name']) }
}

/** The tail with a call whose arguments are being written. */
export function withCall(known: Tail, frame: unknown): Tail {
  const members = membersOf(frame)
  return { ...ofResponse(known, textOf(members['response_id'])), isBroken: false, tool: textOf(members['name']) }
}

/** Another answer begins without text; the row stays. */
function ofResponse(tail: Tail, response: string): Tail {
  if (response === '' || response === tail.response) return tail
  return { ...tail, response, parts: [], text: '', reasoning: '', tool: '' }
}

function withParts(tail: Tail, parts: Tail['parts']): Tail {
  const joined = (kind: Kind) => parts.map((part) => (part?.kind === kind ? part.text : '')).join('')
  return { ...tail, parts, isBroken: false, text: joined('content'), reasoning: joined('reasoning_content') }
}

/** Index of the part that a piece without one belongs to. */
function lastOf(parts: Tail['parts'], kind: Kind): number {
  return parts.at(-1)?.kind === kind ? parts.length - 1 : parts.length
}
