/** Reasons of MCP failures, for people and models; they contain no address and no credential. */
import { ParleyError } from '@parley/protocol'
import { egressRefusalIn } from '../../egress/index.ts'

const MAX_REASON_CHARS = 400
/** Status of a message that was refused as a whole: the server does not have the session any more. */
const REFUSED = new Set([400, 404])
/** The message was not received. */
const UNSENT_CODES = new Set([
  'NOT_CONNECTED',
  'SEND_FAILED',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EGRESS_REFUSED',
])
/** The connection broke after a message was sent. */
const BROKEN_CODES = ['CONNECTION_CLOSED', 'ECONNRESET', 'EPIPE']

/**
 * How a connection failed during a call: `unsent` when the server did not receive it, `midway` when that is unknown.
 */
export type Loss = 'unsent' | 'midway'

/** Returns how the connection was lost; null: the server responded, or the time was up. */
export function lossOf(error: unknown): Loss | null {
  const codes = codesOf(error)
  if (statusOf(error) !== undefined) return REFUSED.has(statusOf(error)!) ? 'unsent' : null
  if (codes.some((code) => UNSENT_CODES.has(code))) return 'unsent'
  if (BROKEN_CODES.some((code) => codes.includes(code)) || isCutOff(error)) return 'midway'
  if (error instanceof ParleyError) return 'midway'
  return isFetchFailure(error) ? 'midway' : null
}

/** Returns the reason in one line. `complaint`: standard error of the program, if there is one. */
export function reasonOf(error: unknown, complaint = ''): string {
  const status = statusOf(error)
  const reason = status === undefined ? messageOf(error) : `it answered with status ${status}`
  const last = complaint.trim().split('\n').at(-1)?.trim() ?? ''
  return shortened(last === '' ? reason : `${reason}; it said: ${last}`)
}

function messageOf(error: unknown): string {
  // Already a reason, whatever its cause.
  if (error instanceof ParleyError) return error.message
  const refusal = egressRefusalIn(error)
  if (refusal !== null) return refusal.message
  const codes = codesOf(error)
  if (codes.includes('REQUEST_TIMEOUT')) return 'it did not answer in time'
  if (BROKEN_CODES.some((code) => codes.includes(code)) || isCutOff(error)) return 'it ended the connection'
  if (codes.includes('ECONNREFUSED')) return 'its address refused the connection'
  if (codes.includes('ENOTFOUND') || codes.includes('EAI_AGAIN')) return 'its host is not known'
  // The messages of these quote the answer.
  if (error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError'))
    return 'it answered with something else than the protocol says'
  if (codes.includes('INVALID_RESULT')) return 'it answered with something else than the protocol says'
  return withoutAddresses(error instanceof Error ? error.message : String(error))
}

const withoutAddresses = (text: string) => text.replaceAll(/\b[a-z]+:\/\/\S+/gi, '<address>')

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= MAX_REASON_CHARS ? line : `${line.slice(0, MAX_REASON_CHARS - 1)}…`
}

/** Returns the codes of the error and its causes. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown }
  const inner = Array.isArray(errors) ? errors.flatMap((each) => codesOf(each, depth + 1)) : []
  return [...(typeof code === 'string' ? [code] : []), ...codesOf(cause, depth + 1), ...inner]
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, code, cause } = error as { status?: unknown; code?: unknown; cause?: unknown }
  if (typeof status === 'number') return status
  // The older transport has the status as a number in `code`.
  if (typeof code === 'number' && code >= 300 && code < 600) return code
  return cause === undefined ? undefined : statusOf(cause)
}

/** The transport aborted the request because its connection ended; the caller's own abort is handled elsewhere. */
const isCutOff = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/** `fetch` throws a TypeError when the connection broke. */
const isFetchFailure = (error: unknown): boolean => error instanceof TypeError && /fetch|terminated/.test(error.message)
