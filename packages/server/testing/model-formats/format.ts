/** One vendor's wire format, on the side of the model server. */
import type { PlayedAnswer } from './answer.ts'

export type Json = Record<string, unknown>

/** The parts of a request that a script may need, in any format. */
export type RequestView = {
  model: string
  stream: boolean
  /** Number of assistant answers in the request; parallel calls count as one. */
  assistantTurns: number
  lastUserText: string
  toolResults: readonly { id: string; text: string }[]
  tools: readonly string[]
}

export interface ModelFormat {
  readonly name: 'chat' | 'responses' | 'anthropic' | 'gemini'
  /** True when a request to `path` (without query) has this format. */
  matches(path: string): boolean
  view(path: string, body: Json): RequestView
  /**
   * Errors that this vendor would report for `body`: calls without result, results without call, wrong order of roles.
   */
  violations(body: Json): string[]
  /** The server-sent frames of a streamed answer, in order. */
  frames(answer: PlayedAnswer, view: RequestView, body: Json): string[]
  /** The same answer without streaming. */
  whole(answer: PlayedAnswer, view: RequestView): Json
  error(status: number, message: string): Json
}

export const asObject = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
export const asList = (value: unknown): Json[] => (Array.isArray(value) ? value.map(asObject) : [])
export const asString = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the text of a content that is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return asList(content)
    .map((part) => asString(part.text))
    .join('')
}

/** One frame; `event` is set only for vendors that name their events. */
export function frame(data: unknown, event?: string): string {
  const head = event === undefined ? '' : `event: ${event}\n`
  return `${head}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}

/** True when `text` is a JSON object, as every vendor requires of arguments that are sent back. */
export function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
