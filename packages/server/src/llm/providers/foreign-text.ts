/**
 * Texts of a model's server in errors that users read. A user may have named any address, so only texts in the form of a known API
 * count; a page, and the content of any other answer, is left out. Source: docs/security.md, Requests for users.
 */
import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { isRecord } from '@parley/protocol'
import { nodeHttp } from '../../lib/index.ts'

/** Longest text of a server in an error, in characters. */
const MAX_CHARS = 1_000

const NOT_UNDERSTOOD = 'the answer does not have the form of this API'

/** The text of an error for its user. */
export function shownText(error: Error): string {
  if (APICallError.isInstance(error) && error.statusCode !== undefined)
    return bounded(vendorMessage(error.responseBody) ?? statusText(error.statusCode))
  // An error event whose form the library does not know, for example the text of Ollama.
  const reported = TypeValidationError.isInstance(error) ? messageIn(error.value) : null
  if (reported !== null) return bounded(reported)
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

/**
 * `{error: {message}}` of most vendors, `{error: "…"}` of Ollama and LM Studio, `{message}` beside a `type`, `code` or `object` of vLLM,
 * SGLang and Mistral, `{detail: "…"}` and `{detail: [{loc, msg}]}` of servers that are built on FastAPI.
 */
function messageIn(value: unknown): string | null {
  if (!isRecord(value)) return null
  const { error, message, type, code, object, detail } = value
  if (typeof error === 'string') return error
  if (isRecord(error)) return typeof error['message'] === 'string' ? error['message'] : null
  const isMarked = [type, code, object].some((each) => typeof each === 'string' || typeof each === 'number')
  if (typeof message === 'string' && isMarked) return message
  if (typeof detail === 'string') return detail
  return Array.isArray(detail) ? detailsIn(detail) : null
}

/** The first problems of a refused body, each with the member that it is about. */
function detailsIn(problems: readonly unknown[]): string | null {
  const texts = problems.slice(0, 3).flatMap((problem) => {
    if (!isRecord(problem) || typeof problem['msg'] !== 'string') return []
    const { loc, msg } = problem
    const place = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : ''
    return [place === '' ? String(msg) : `${place}: ${String(msg)}`]
  })
  return texts.length === 0 ? null : texts.join('; ')
}
