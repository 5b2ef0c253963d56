/**
 * The only place where an error becomes a status and a body, and the only one with status numbers of errors.
 * Source: agent-server-wire.md 0.2 and 1.5.
 */
import { randomBytes } from 'node:crypto'
import { type ErrorCode, ParleyError, type ValidationError } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import { RunCancelled } from '../../conversation/index.ts'
import { valueErrorOf } from '../input/refused-value.ts'
import { InvalidInput } from '../input/validation.ts'

export type Answer = {
  status: number
  /** An object is written as JSON, a string as plain text; undefined: no body. */
  body?: unknown
  headers?: Record<string, string>
  /** The conversation of the answer, where the path does not name it. */
  about?: string
  /** What the audit log says about the request besides its status. */
  audit?: {
    subject?: string
    detail?: string
    /** Who the request was from, where its headers do not say it. */
    actor?: { user: string; keyId: string }
  }
  /** The request took effect, although its status is that of an error. */
  tookEffect?: true
}

const STATUS = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  nothing_pending: 409,
  too_large: 413,
  invalid_input: 422,
  rate_limited: 429,
  unsupported: 501,
  unavailable: 503,
  insufficient_storage: 507,
  timed_out: 504,
} satisfies Record<ErrorCode, number>

/**
 * Answers of routes for a conversation that does not exist or belongs to another user. They differ between routes and clients
 * depend on the difference, so each route names its answer. Source: agent-server-wire.md 1.5.
 */
export const UNKNOWN_CONVERSATION = {
  not_found: () => detail(404, 'Not Found'),
  bad_request: () => detail(400, 'Bad Request'),
  not_successful: () => ({ status: 200, body: { success: false } }),
  named: () => detail(404, 'Conversation not found'),
  source: () => detail(404, 'Source conversation not found'),
  with_id: (id: string) => detail(404, `Conversation not found: ${id}`),
} satisfies Record<string, (id: string) => Answer>
export type UnknownConversation = keyof typeof UNKNOWN_CONVERSATION

export const detail = (status: number, text: string): Answer => ({ status, body: { detail: text } })

export const UNAUTHORIZED = detail(401, 'Unauthorized')
export const NOT_FOUND = detail(404, 'Not Found')
export const READ_ONLY = detail(403, 'This key may only read. Use a key with the role "user" or "admin".')
export const WEBHOOKS_ONLY = detail(
  403,
  'This key may only deliver webhooks. Use a key with the role "user" or "admin" for other requests.',
)
export const unsignedWebhook = (fault: string): Answer =>
  detail(401, `The signature of the webhook is not accepted: ${fault}.`)
export const FOREIGN = detail(
  403,
  'This server runs without keys and answers only programs and its own pages on this machine. List the origin of another page in PARLEY_ALLOW_CORS_ORIGINS, or set PARLEY_SESSION_API_KEYS.',
)
export const FOREIGN_HOST = detail(
  403,
  'Without a valid key this server answers for its own host names only. Add this one to public_hosts (PARLEY_PUBLIC_HOSTS).',
)
export const FOREIGN_LOGIN = detail(
  403,
  'Pages of other sites cannot log in here. List the origin of the page in PARLEY_ALLOW_CORS_ORIGINS.',
)
const UNREADABLE_BODY = detail(400, 'There was an error parsing the body')
export const methodNotAllowed = (allowed: readonly string[]): Answer => ({
  ...detail(405, 'Method Not Allowed'),
  headers: { allow: allowed.join(', ') },
})
const bodyTooLarge = (limitBytes: number): Answer => ({
  ...detail(413, `Request body is larger than ${limitBytes} bytes`),
  headers: { connection: 'close' },
})
/** The path without, or with, its last slash is a route; the client repeats the request there, with the same method and body. */
export const redirect = (location: string): Answer => ({ status: 307, headers: { location } })

const keyed = (reason: string, text: string): Answer => ({ status: STATUS.conflict, body: { detail: text, reason } })

/** A request with the same `Idempotency-Key` has no answer yet. */
export const STILL_AT_WORK: Answer = {
  ...keyed(
    'idempotency_key_in_use',
    'The first request with this Idempotency-Key is still at work. Send it again later.',
  ),
  headers: { 'retry-after': '1' },
}
/** The process ended, or the operation failed, between the beginning of the request and its answer. */
export const OUTCOME_UNKNOWN = keyed(
  'idempotency_outcome_unknown',
  'The first request with this Idempotency-Key was cut off, and its outcome is not known. Read what it would have changed; if it had no effect, send it with a new key.',
)
/** The answer to the repetition of a request that took effect. Null: the first answer is not kept. */
export function answeredBefore(first: Answer | null): Answer {
  if (first !== null) return { ...first, headers: { ...first.headers, 'idempotency-replayed': 'true' } }
  return keyed(
    'idempotency_answer_not_kept',
    'The first request with this Idempotency-Key took effect, and its answer is not kept, because it was a stream or too long. Read the result.',
  )
}

/**
 * True when a request with this answer took effect, false when it is known to have changed nothing; null: unknown. An error below
 * 500 is a refusal, and so are `unsupported`, `insufficient_storage` and `unavailable`, except when the server closes during the request.
 */
export function tookEffect(answer: Answer | { stream: unknown }, isClosing: boolean): boolean | null {
  if ('stream' in answer || answer.tookEffect === true || answer.status < 400) return true
  if (answer.status === STATUS.unavailable) return isClosing ? null : false
  if (answer.status === STATUS.insufficient_storage) return false
  return answer.status < 500 || answer.status === STATUS.unsupported ? false : null
}

/** A time limit was exceeded. The message is in `exception`, where clients of this API read it. */
export const NOT_IN_TIME = (text: string): Answer => masked(504, text)
/** A run failed whose result is the answer. */
export const failedRun = (text: string): Answer => masked(500, text)

const masked = (status: number, text: string): Answer => ({
  status,
  body: { detail: 'Internal Server Error', exception: `${status}: ${text}` },
})

/** True for an error about a missing conversation, or a missing event. An error that names an event, a profile or a file is about that one. */
export function isNotFound(error: unknown, what: 'conversation' | 'event'): boolean {
  if (!(error instanceof ParleyError) || error.code !== 'not_found') return false
  const { details } = error
  if (what === 'event') return 'event_id' in details
  return !['event_id', 'profile_name', 'filename'].some((name) => name in details)
}

/** Wait that a client is asked for when the server, its store or a model cannot do the work at the moment. */
const RETRY_AFTER_SECONDS = 1

const LEFT_MEMORY = new ParleyError(
  'unavailable',
  'The conversation left the memory of this server during the request. Send the request again.',
)

/**
 * The answer to an error of a route. An unexpected error is logged in full under an id and answered without its text, which may
 * contain secrets.
 */
export function toAnswer(error: unknown, log: Log): Answer {
  if (error instanceof InvalidInput) return invalid(error.detail, error.details)
  if (error instanceof ParleyError) return refusal(error)
  if (error instanceof RunCancelled) return refusal(LEFT_MEMORY)
  return unexpected(error, log)
}

/** The answer to an expected error. Details are members beside the message, for programs; `unavailable` uses the envelope that clients of this API expect. */
export function refusal(error: ParleyError): Answer {
  const status = STATUS[error.code]
  if (error.code === 'timed_out') return NOT_IN_TIME(error.message)
  if (error.code === 'unavailable')
    return {
      status,
      body: { detail: 'Internal Server Error', exception: `${status}: ${error.message}` },
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    }
  if (error.code === 'rate_limited') {
    const { retry_after_seconds: seconds = RETRY_AFTER_SECONDS, ...details } = error.details
    const headers = { 'retry-after': String(seconds) }
    return { status, body: { detail: error.message, ...extra(details) }, headers }
  }
  if (error.code === 'invalid_input') return invalid([valueErrorOf(error.message)], error.details)
  return { status, body: { detail: error.message, ...extra(error.details) } }
}

/** The only 422: always a list. Source: conversation-service.md 7. */
const invalid = (detail: readonly ValidationError[], details: Readonly<Record<string, unknown>>): Answer => ({
  status: STATUS.invalid_input,
  body: { detail, ...extra(details) },
})

/** Details must not replace the message. */
function extra(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([name]) => name !== 'detail'))
}

function unexpected(error: unknown, log: Log): Answer {
  const error_id = randomBytes(16).toString('hex')
  log.error({ error_id, err: error }, 'request failed unexpectedly')
  const exception = error instanceof Error ? error.constructor.name : typeof error
  // Closes the connection: after a bug it is unknown how much of the body was read.
  return {
    status: 500,
    body: { detail: 'Internal Server Error', exception, error_id },
    headers: { connection: 'close' },
  }
}

/** The answer to an error before a route saw the request. */
export function frameworkError(error: unknown, bodyLimitBytes: number, log: Log): Answer {
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(bodyLimitBytes)
  if (statusCode !== undefined && statusCode < 500) return UNREADABLE_BODY
  return toAnswer(error, log)
}
