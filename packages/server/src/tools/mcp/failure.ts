/** What went wrong with an MCP server, in words for people and models; no address and no credential is in them. */
import { ParleyError } from '@parley/protocol'

const MAX_REASON_CHARS = 400
/** Answers to a message that was refused as a whole: the session is not known there any more. */
const REFUSED = new Set([400, 404])
/** Nobody took the message. */
const UNSENT_CODES = new Set(['NOT_CONNECTED', 'SEND_FAILED', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])

/** How a connection failed under a call: `unsent` when the server never took it up, `midway` when nobody knows. */
export type Loss = 'unsent' | 'midway'

/** Whether an error means that the connection is gone; null: the server answered, or the time was up. */
export function lossOf(error: unknown): Loss | null {
  const codes = codesOf(error)
  if (statusOf(error) !== undefined) return REFUSED.has(statusOf(error)!) ? 'unsent' : null
  if (codes.some((code) => UNSENT_CODES.has(code))) return 'unsent'
  if (codes.includes('CONNECTION_CLOSED') || isCutOff(error)) return 'midway'
  if (error instanceof ParleyError) return 'midway'
  return isFetchFailure(error) ? 'midway' : null
}

/** One line that says why. `complaint`: what the program itself said, if it is a program. */
export function reasonOf(error: unknown, complaint = ''): string {
  const status = statusOf(error)
  const said = status === undefined ? messageOf(error) : `it answered with status ${status}`
  const last = complaint.trim().split('\n').at(-1)?.trim() ?? ''
  return shortened(last === '' ? said : `${said}; it said: ${last}`)
}

function messageOf(error: unknown): string {
  // Ours, whatever caused it.
  if (error instanceof ParleyError) return error.message
  const codes = codesOf(error)
  if (codes.includes('REQUEST_TIMEOUT')) return 'it did not answer in time'
  if (codes.includes('CONNECTION_CLOSED') || isCutOff(error)) return 'it ended the connection'
  if (codes.includes('ECONNREFUSED')) return 'nobody listens at its address'
  if (codes.includes('ENOTFOUND') || codes.includes('EAI_AGAIN')) return 'its host is not known'
  if (error instanceof Error && error.name === 'ZodError')
    return 'it answered with something else than the protocol says'
  if (codes.includes('INVALID_RESULT')) return 'it answered with something else than the protocol says'
  return withoutAddresses(error instanceof Error ? error.message : String(error))
}

const withoutAddresses = (text: string) => text.replaceAll(/\b[a-z]+:\/\/\S+/gi, '<address>')

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= MAX_REASON_CHARS ? line : `${line.slice(0, MAX_REASON_CHARS - 1)}…`
}

/** Codes of the error and of what caused it. */
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
  // The older transport tells the status as a number in the place of a code.
  if (typeof code === 'number' && code >= 300 && code < 600) return code
  return cause === undefined ? undefined : statusOf(cause)
}

/** A request that the transport gave up when its connection ended; the caller's own abort never comes here. */
const isCutOff = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/** What `fetch` throws when the connection broke. */
const isFetchFailure = (error: unknown): boolean => error instanceof TypeError && /fetch|terminated/.test(error.message)
