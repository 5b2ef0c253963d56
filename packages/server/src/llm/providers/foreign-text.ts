/**
 * Texts of a model's server in errors that users read. A user may have named any address, so only texts in the form of a known API
 * count; a page, and the content of any other answer, is left out. Source: docs/security.md, Requests for users.
 */
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { nodeHttp } from '../../lib/index.ts'

/** Longest text of a server in an error, in characters. */
const MAX_CHARS = 1_000

const NOT_UNDERSTOOD = 'the answer does not have the form of this API'

/** The text of an error for its user. */
export function shownText(error: Error): string {
  if (APICallError.isInstance(error) && error.statusCode !== undefined)
    return bounded(vendorMessage(error.responseBody) ?? statusText(error.statusCode))
  const quotesContent =
    error instanceof SyntaxError ||
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error)
  return quotesContent ? NOT_UNDERSTOOD : bounded(error.message || 'no message')
}

/** The text of an error event within an answer; null when it has not the form of one. */
export function streamedText(part: unknown): string | null {
  const text = typeof part === 'string' ? part : messageIn(part)
  return text === null ? null : bounded(text)
}

const bounded = (text: string): string => (text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS - 1)}…`)

const statusText = (status: number): string => nodeHttp().STATUS_CODES[status] ?? 'no message'

function vendorMessage(body: string | undefined): string | null {
  try {
    const parsed: unknown = JSON.parse(body ?? '')
    return messageIn(Array.isArray(parsed) ? parsed[0] : parsed)
  } catch {
    return null
  }
}

/** `{error: {message}}` of most vendors, `{error: "…"}` of Ollama, `{message}` beside a `type`, `code` or `object` of vLLM and Mistral. */
function messageIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  const { error, message, type, code, object } = value as Record<string, unknown>
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null) {
    const inner = (error as { message?: unknown }).message
    return typeof inner === 'string' ? inner : null
  }
  const isMarked = [type, code, object].some((each) => typeof each === 'string' || typeof each === 'number')
  return typeof message === 'string' && isMarked ? message : null
}
