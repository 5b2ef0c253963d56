/** One vendor's wire format, on the side of the model server. */
import type { PlayedAnswer, PlayedPart } from './answer.ts'
import type { Json, RequestView } from './format.ts'
import type { Rule } from './rules/rule.ts'

export interface ModelFormat {
  readonly name: 'chat' | 'responses' | 'anthropic' | 'gemini'
  /** True when a request to `path` (without query) has this format. */
  matches(path: string): boolean
  view(path: string, body: Json): RequestView
  /** What this vendor refuses. */
  readonly rules: readonly Rule[]
  /** The parts of an answer in the order in which this format sends them. */
  parts(answer: PlayedAnswer): readonly PlayedPart[]
  /** Digest of what a signature of this answer is bound to; empty where signatures are bound to nothing. */
  prefixOf(body: Json): string
  /** The server-sent frames of a streamed answer, in order. */
  frames(answer: PlayedAnswer, view: RequestView, body: Json): string[]
  /** The same answer without streaming. */
  whole(answer: PlayedAnswer, view: RequestView, body: Json): Json
  error(status: number, message: string, code?: string | null): Json
}
