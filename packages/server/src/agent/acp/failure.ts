/** Failures of an external agent and their codes. Pure. Source: agent-core.md 11.3, 11.8. */
import type { Log } from '../../observability/index.ts'

export type AcpCode =
  | 'ACPAuthRequired'
  | 'ACPStartupTimeout'
  | 'ACPSpawnError'
  | 'ACPInitError'
  | 'ACPPromptError'
  | 'ACPPromptTimeout'
  | 'UsagePolicyRefusal'

/** A failure of the external agent; the run ends with it. */
export class AcpFailure extends Error {
  readonly code: AcpCode

  constructor(code: AcpCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AcpFailure'
    this.code = code
  }
}

/** Characters of a failure message that are shown. */
const MAX_DETAIL_CHARS = 500
/** JSON-RPC codes. */
const AUTH_REQUIRED = -32000
export const INTERNAL_ERROR = -32603

const AUTH =
  /\b(?:401|403)\b(?! ?(?:s|ms|sec|seconds|milliseconds)\b)|authentication (?:required|failed|error)|not (?:authenticated|logged in)|unauthori[sz]ed|(?:please|must) (?:log|sign) ?in|invalid (?:api[ _-]?key|credentials|x-api-key)|re-?authenticat/i
const POLICY = /usage polic|content polic|policy violation|violat\w* (?:our|the) \w*\s?polic|safety (?:filter|system)/i

type RequestFailure = { code: number; message: string; data?: unknown }

/** True when the error is the agent's answer to a request, not the absence of one. */
export function isRequestFailure(error: unknown): error is RequestFailure {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}

/** The error's message, followed by its data unless the message contains it; at most 500 characters. */
export function detailOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const data = isRequestFailure(error) && error.data !== undefined && error.data !== null ? dataText(error.data) : ''
  const isNew = data !== '' && !message.includes(data)
  return shortened(isNew ? `${message}: ${data}` : message)
}

const shortened = (text: string): string =>
  text.length <= MAX_DETAIL_CHARS ? text : `${text.slice(0, MAX_DETAIL_CHARS - 1)}…`

function dataText(data: unknown): string {
  if (typeof data === 'string') return data
  const inner = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {}
  for (const name of ['details', 'message', 'error']) if (typeof inner[name] === 'string') return inner[name]
  return JSON.stringify(data)
}

/** True when the error asks for a login. A model's name or a duration with digits such as 401 does not count. */
function isLoginRequired(error: unknown): boolean {
  if (isRequestFailure(error) && error.code === AUTH_REQUIRED) return true
  return AUTH.test(withoutNames(messageAndData(error)))
}

/** True when the agent's provider refused the prompt because of its usage policy. */
const isPolicyRefusal = (error: unknown): boolean => POLICY.test(messageAndData(error))

function messageAndData(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const data = isRequestFailure(error) && error.data !== undefined ? JSON.stringify(error.data) : ''
  return `${message} ${data}`
}

/** Removes hyphenated names, such as `x-401b` or `model-403`, whose digits are not status codes. */
const withoutNames = (text: string): string =>
  text.replaceAll(/[\w.]+(?:-[\w.]+)+/g, (word) => (/re-?auth/i.test(word) ? word : ' '))

/** Classifies a failure during the start. */
export function startFailure(error: unknown): AcpFailure {
  if (error instanceof AcpFailure) return error
  if (isLoginRequired(error)) return new AcpFailure('ACPAuthRequired', detailOf(error), error)
  return new AcpFailure('ACPInitError', detailOf(error), error)
}

/** Classifies a failure of a prompt. */
export function promptFailure(error: unknown): AcpFailure {
  if (error instanceof AcpFailure) return error
  if (isPolicyRefusal(error)) return new AcpFailure('UsagePolicyRefusal', detailOf(error), error)
  if (isLoginRequired(error)) return new AcpFailure('ACPAuthRequired', detailOf(error), error)
  return new AcpFailure('ACPPromptError', detailOf(error), error)
}

/** Logs a failure and returns it with a bounded message. Any other error counts as a failure of the start. */
export function reportFailure(
  error: unknown,
  { conversationId, log }: { conversationId: string; log: Pick<Log, 'error'> },
): AcpFailure {
  const failure = error instanceof AcpFailure ? error : new AcpFailure('ACPInitError', detailOf(error), error)
  log.error({ conversation_id: conversationId, code: failure.code }, 'external agent failed')
  return new AcpFailure(failure.code, shortened(failure.message), failure)
}
