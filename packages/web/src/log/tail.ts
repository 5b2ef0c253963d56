/** The answer that is being written: its pieces are appended until the stored event replaces them. Pure. */
import { membersOf, numberOf, textOf } from './read.ts'

/** `key`: that of its row; the stored event takes it over. */
export type Tail = {
  readonly key: string
  readonly text: string
  readonly reasoning: string
  /** Milliseconds since 1970 of the first piece. */
  readonly since: number
  /** The stream was cut: no further piece belongs to this text. */
  readonly isBroken: boolean
  /** Name of a tool whose arguments are being written; empty when none. */
  readonly tool: string
}

/** A tail without text. */
export const emptyTail = (key: string, now: number): Tail => ({
  key,
  text: '',
  reasoning: '',
  since: now,
  isBroken: false,
  tool: '',
})

/** The tail with a `delta` frame. A piece with an `offset` replaces what was known from there on. */
export function withDelta(tail: Tail, frame: unknown): Tail {
  const members = membersOf(frame)
  const text = textOf(members['content'])
  const reasoning = textOf(members['reasoning_content'])
  const offset = numberOf(members['offset'])
  const joined = (known: string, piece: string) =>
    piece === '' ? known : (offset === null ? known : known.slice(0, offset)) + piece
  return { ...tail, isBroken: false, text: joined(tail.text, text), reasoning: joined(tail.reasoning, reasoning) }
}

/** The tail with the whole text so far, which a server sends to a client that joins in the middle of an answer. */
export function withPartial(tail: Tail, frame: unknown): Tail {
  const members = membersOf(frame)
  return {
    ...tail,
    isBroken: false,
    text: textOf(members['content']),
    reasoning: textOf(members['reasoning_content']),
  }
}
