/**
 * The only place where a refusal becomes a status and a body, and the only one that knows status numbers of refusals.
 * Source: agent-server-wire.md 0.2 and 1.5.
 */
import { randomBytes } from 'node:crypto'
import { type ErrorCode, ParleyError } from '@parley/protocol'
import type { Log } from '../observability/index.ts'
import { InvalidInput } from './validation.ts'

export type Answer = {
  status: number
  /** An object is written as JSON, a string as plain text; undefined: no body. */
  body?: unknown
  headers?: Record<string, string>
  /** The conversation that it is about, where the path does not name it. */
  about?: string
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
  timed_out: 504,
} satisfies Record<ErrorCode, number>

/**
 * What a route says about a conversation that does not exist, or belongs to someone else. Clients tell routes apart by it,
 * so it is data on the route. Source: agent-server-wire.md 1.5.
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

const detail = (status: number, text: string): Answer => ({ status, body: { detail: text } })

export const UNAUTHORIZED = detail(401, 'Unauthorized')
export const NOT_FOUND = detail(404, 'Not Found')
export const READ_ONLY = detail(403, 'This key may only read. Use a key with the role "user" or "admin".')
export const FOREIGN = detail(
  403,
  'This server runs without keys and answers only this machine. Set PARLEY_SESSION_API_KEYS to open it.',
)
export const FOREIGN_HOST = detail(
  403,
  'Without a valid key this server answers for its own host names only. Add this one to public_hosts (PARLEY_PUBLIC_HOSTS).',
)
export const UNREADABLE_BODY = detail(400, 'There was an error parsing the body')
export const methodNotAllowed = (allowed: readonly string[]): Answer => ({
  ...detail(405, 'Method Not Allowed'),
  headers: { allow: allowed.join(', ') },
})
export const bodyTooLarge = (limitBytes: number): Answer => ({
  ...detail(413, `Request body is larger than ${limitBytes} bytes`),
  headers: { connection: 'close' },
})
/** The same path with, or without, its last slash is a route: the client should ask there, with the same method and body. */
export const redirect = (location: string): Answer => ({ status: 307, headers: { location } })

/** What did not come to its end in the time that its caller has. The real words stand where clients of this wire look. */
export const NOT_IN_TIME = (text: string): Answer => masked(504, text)
/** A run on whose result an answer depends has failed. */
export const failedRun = (text: string): Answer => masked(500, text)

const masked = (status: number, text: string): Answer => ({
  status,
  body: { detail: 'Internal Server Error', exception: `${status}: ${text}` },
})

/** Whether a refusal says that a conversation, or something inside one, is not there; what names an event, or a profile, is about that. */
export function isNotFound(error: unknown, what: 'conversation' | 'event'): boolean {
  if (!(error instanceof ParleyError) || error.code !== 'not_found') return false
  const { details } = error
  return what === 'event' ? 'event_id' in details : !('event_id' in details || 'profile_name' in details)
}

/**
 * The answer to whatever a route threw. What was not expected is logged in full under an id and answered without its text,
 * which may hold anything.
 */
export function toAnswer(error: unknown, log: Log): Answer {
  if (error instanceof InvalidInput) return { status: STATUS.invalid_input, body: { detail: error.detail } }
  if (error instanceof ParleyError) return refusal(error)
  return unexpected(error, log)
}

/** Details go beside the sentence, for programs; a refusal for now keeps the envelope that clients of this wire expect. */
function refusal(error: ParleyError): Answer {
  const status = STATUS[error.code]
  if (error.code === 'timed_out') return NOT_IN_TIME(error.message)
  if (error.code === 'unavailable')
    return { status, body: { detail: 'Internal Server Error', exception: `${status}: ${error.message}` } }
  // An agent profile that cannot be launched says which servers it misses in one object (agent-server-wire.md 1.4).
  if ('dangling_mcp_server_refs' in error.details)
    return { status, body: { detail: { message: error.message, ...error.details } } }
  return { status, body: { detail: error.message, ...extra(error.details) } }
}

/** Details may not replace the sentence itself. */
function extra(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([name]) => name !== 'detail'))
}

function unexpected(error: unknown, log: Log): Answer {
  const error_id = randomBytes(16).toString('hex')
  log.error({ error_id, err: error }, 'a request failed unexpectedly')
  const exception = error instanceof Error ? error.constructor.name : typeof error
  // The connection is closed: after a bug nobody knows what was read from it.
  return {
    status: 500,
    body: { detail: 'Internal Server Error', exception, error_id },
    headers: { connection: 'close' },
  }
}
