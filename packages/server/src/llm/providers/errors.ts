/**
 * Converts provider errors to the classes that a run distinguishes. The status decides where there is one. Two classes
 * are
 * recognised by their text first, because vendors send them with any status. Source: agent-core.md 10.6.
 */
import { APICallError, InvalidResponseDataError, NoContentGeneratedError } from '@ai-sdk/provider'
import { addressClass, egressRefusalIn } from '../../egress/index.ts'
import { shownText, streamedText } from './foreign-text.ts'
import { retryAfterMs } from '../../lib/index.ts'
import { LlmError, TEMPORARY_FAILURES, type LlmErrorCode } from '../llm.ts'
import type { Failure } from '../retry.ts'
import { refusedPartIn } from './refused-part.ts'
import { SilenceError } from './transport.ts'

/** The facts that can be read from any error. */
type Facts = { status: number | undefined; message: string; words: string; codes: ReadonlySet<string> }

/** Texts of vendors, and of the servers of local models, about a request that does not fit into the context window. */
const CONTEXT_WINDOW = new RegExp(
  [
    'prompt is too long|input is too long|request[ _]too[ _]large|please reduce the length|token limit exceeded|too many (input )?tokens',
    'maximum context length|max context length|context[ _-]?(length|size)[ _-](has been )?exceeded|exceed_context_size|context window',
    "exceeds? (the )?(available |maximum |model'?s? )?(context|token|input)|input token count.{0,40}exceeds|maximum (number of )?(input )?tokens allowed",
    "longer than the (maximum model length|model's context length)|too long to fit into the model|greater than max_seq_len",
    'when (the )?context (the )?overflows|n_keep.{0,30}n_ctx',
  ].join('|'),
  'i',
)
const MALFORMED_HISTORY =
  /tool_use.{0,80}tool_result|tool_result.{0,80}tool_use|tool_call_ids? did not have response|must be followed by tool messages|role '?tool'? must be a response|no tool (call|output) found for|number of function response parts|function call turn comes immediately after|failed to parse tool call arguments as json|roles must alternate|expected `?thinking`? or `?redacted_thinking`?|tool call id .{0,40} not found/i
const CONTENT_POLICY =
  /content[ _-]?(filter|policy|management)|safety (system|settings|reasons)|responsible ai|flagged as|violat.{0,30}(policy|policies|guidelines)/i
const AUTHENTICATION =
  /invalid.{0,10}api.?key|incorrect api key|api key not valid|unauthori[sz]ed|authentication_?error|permission_?denied|unauthenticated/i
const RATE_LIMIT = /rate.?limit|too many requests|quota|resource_exhausted/i
const OUT_OF_CREDIT =
  /insufficient_quota|exceeded your current quota|credit balance|billing|insufficient (credits?|balance|funds)/i
const TIMEOUT = /timed? ?out|deadline.?exceeded/i
const UNAVAILABLE =
  /overloaded|unavailable|server_?error|internal error|api_error|bad gateway|connection|socket hang up|cannot connect|terminated/i

const TIMEOUT_CODES = ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']
const NETWORK_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_SOCKET',
  'ERR_STREAM_PREMATURE_CLOSE',
]

/** What the message is about. `hide` replaces keys in it; `hasKey` is false when the request had none. */
export type ErrorContext = {
  model: string
  /** The mark of an image in the request for that in the body, where it was loaded from its address. */
  originalMark?: (mark: string) => string
  hide: (text: string) => string
  hasKey: boolean
  baseUrl: string | null
}

/** Converts an error thrown by a provider, or found in its stream, to the error of a run. */
export function toLlmError(error: unknown, context: ErrorContext): LlmError {
  if (error instanceof LlmError) return error
  const refusal = egressRefusalIn(error)
  if (refusal !== null) return new LlmError('LLMBadRequestError', `${context.model}: ${refusal.message}`)
  const root = rootOf(error)
  const facts = factsOf(root)
  const refused = refusedPartIn(root, facts.words, context.originalMark)
  // Some local servers report a refused image as a failure of their own, which would be repeated.
  const code = refused === null ? classify(root, facts) : 'LLMBadRequestError'
  const outOfCredit = OUT_OF_CREDIT.test(facts.words)
  const text = context.hide(isRefused(facts) ? refusedText(context.baseUrl) : facts.message)
  const status = facts.status === undefined ? '' : ` (HTTP ${facts.status})`
  const message = `${context.model}: ${text}${status}${hint(code, facts, context)}`
  // As text: the libraries' errors contain the whole request, which must not stay in memory or reach a log.
  const cause = `${root instanceof Error ? root.name : 'error in the answer'}: ${text}`
  return new LlmError(code, message, { retryable: TEMPORARY_FAILURES.has(code) && !outOfCredit, cause, refused })
}

/** Nothing listens at the address of the server. */
const isRefused = ({ status, codes }: Facts): boolean => status === undefined && codes.has('ECONNREFUSED')

const refusedText = (baseUrl: string | null): string =>
  `connection refused by ${baseUrl ?? 'the server'}` +
  (isOnThisMachine(baseUrl) ? '; is the server of the model running?' : '')

function isOnThisMachine(baseUrl: string | null): boolean {
  if (baseUrl === null || !URL.canParse(baseUrl)) return false
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || addressClass(host) === 'loopback'
}

/**
 * The failed attempt as the retries need it. A server on this machine that refuses the connection is not running: waiting longer than
 * for its restart does not help. `now` is in milliseconds.
 */
export function toFailure(thrown: unknown, context: ErrorContext, now: number): Failure {
  const error = toLlmError(thrown, context)
  const isDown = isOnThisMachine(context.baseUrl) && isRefused(factsOf(rootOf(thrown)))
  return isDown ? { error, retryAfter: 1, mostRetries: 1 } : { error, retryAfter: retryAfterSeconds(thrown, now) }
}

/** The libraries wrap an error in the middle of an answer in one of their own, with the status 200. */
function rootOf(error: unknown): unknown {
  const wrapped = APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode < 300
  return wrapped && error.cause !== undefined ? rootOf(error.cause) : error
}

function classify(error: unknown, { status, words, codes }: Facts): LlmErrorCode {
  // Before the status: a 5xx about the context window must not be retried (10.5).
  if ((CONTEXT_WINDOW.test(words) && status !== 429) || status === 413) return 'LLMContextWindowExceedError'
  if (MALFORMED_HISTORY.test(words)) return 'LLMMalformedConversationHistoryError'
  if (error instanceof SilenceError || codes.has('SilenceError')) return 'LLMTimeoutError'
  if (InvalidResponseDataError.isInstance(error) || NoContentGeneratedError.isInstance(error))
    return 'LLMNoResponseError'
  if (status !== undefined) return byStatus(status, words)
  if (TIMEOUT_CODES.some((code) => codes.has(code))) return 'LLMTimeoutError'
  if (NETWORK_CODES.some((code) => codes.has(code))) return 'LLMServiceUnavailableError'
  return byWords(words)
}

function byStatus(status: number, words: string): LlmErrorCode {
  if (status === 401 || status === 403) return 'LLMAuthenticationError'
  if (status === 429) return 'LLMRateLimitError'
  if (status === 408 || status === 504) return 'LLMTimeoutError'
  if (status === 409 || status >= 500) return 'LLMServiceUnavailableError'
  if (CONTENT_POLICY.test(words)) return 'LLMContentPolicyViolationError'
  // Gemini responds to a wrong key with 400.
  if (status === 400 && AUTHENTICATION.test(words)) return 'LLMAuthenticationError'
  if (status === 404) return 'NotFoundError'
  return status >= 400 ? 'LLMBadRequestError' : 'LLMError'
}

function byWords(words: string): LlmErrorCode {
  if (AUTHENTICATION.test(words)) return 'LLMAuthenticationError'
  if (RATE_LIMIT.test(words)) return 'LLMRateLimitError'
  if (TIMEOUT.test(words)) return 'LLMTimeoutError'
  if (UNAVAILABLE.test(words)) return 'LLMServiceUnavailableError'
  if (CONTENT_POLICY.test(words)) return 'LLMContentPolicyViolationError'
  return /invalid|bad request/i.test(words) ? 'LLMBadRequestError' : 'LLMError'
}

function factsOf(error: unknown): Facts {
  const codes = new Set<string>()
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    codes.add(at.name)
    if ('code' in at && typeof at.code === 'string') codes.add(at.code)
  }
  if (APICallError.isInstance(error)) {
    const words = `${error.message} ${error.responseBody ?? ''}`
    return { status: error.statusCode, message: shownText(error), words, codes }
  }
  if (error instanceof Error)
    return { status: undefined, message: shownText(error), words: `${error.name} ${error.message}`, codes }
  return factsOfStreamPart(error, codes)
}

/** Errors inside a stream have the vendor's own form; some libraries add a status to it. */
function factsOfStreamPart(error: unknown, codes: ReadonlySet<string>): Facts {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as {
    statusCode?: unknown
    code?: unknown
  }
  const words = typeof error === 'string' ? error : JSON.stringify(error)
  const message = streamedText(error) ?? 'the answer reports an error'
  const numeric = [fields.statusCode, fields.code].map(Number).find((value) => value >= 400 && value < 600)
  return { status: numeric, message, words, codes }
}

function hint(code: LlmErrorCode, { status }: Facts, { baseUrl, hasKey }: ErrorContext): string {
  if (code === 'LLMAuthenticationError')
    return hasKey
      ? '; check `llm_api_key`'
      : '; no key was sent: set a key for this address, `llm_api_key` with POST /api/settings or `api_key` beside `base_url`'
  if (status === 404 && baseUrl !== null && !/\/v\d/.test(baseUrl))
    return `; does the base URL ${baseUrl} lack a version such as /v1?`
  if (status !== undefined && status >= 300 && status < 400)
    return '; redirects are not followed, set the base URL to their target'
  return ''
}

/**
 * Seconds that the server asks to wait, from `retry-after-ms`, `retry-after` (seconds or a date) or Gemini's RetryInfo;
 * null
 * without any of them. `now` is in milliseconds.
 */
export function retryAfterSeconds(error: unknown, now: number): number | null {
  if (!APICallError.isInstance(error)) return null
  const headers = error.responseHeaders ?? {}
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(ms)) return Math.max(0, ms / 1000)
  const asked = retryAfterMs(headers['retry-after'], now)
  if (asked !== null) return asked / 1000
  const delay = /"retryDelay":\s*"([\d.]+)s"/.exec(error.responseBody ?? '')?.[1]
  return delay === undefined ? null : Number(delay)
}
