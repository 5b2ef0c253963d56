/** What can go wrong with an external agent, as a conversation tells it. Pure. Source: agent-core.md 11.3, 11.8. */

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

/** Characters of a failure that are told. */
const MAX_DETAIL_CHARS = 500
/** JSON-RPC codes. */
const AUTH_REQUIRED = -32000
export const INTERNAL_ERROR = -32603

const AUTH =
  /\b(?:401|403)\b(?! ?(?:s|ms|sec|seconds|milliseconds)\b)|authentication (?:required|failed|error)|not (?:authenticated|logged in)|unauthori[sz]ed|(?:please|must) (?:log|sign) ?in|invalid (?:api[ _-]?key|credentials|x-api-key)|re-?authenticat/i
const POLICY = /usage polic|content polic|policy violation|violat\w* (?:our|the) \w*\s?polic|safety (?:filter|system)/i

type RequestFailure = { code: number; message: string; data?: unknown }

/** Whether the agent answered a request with an error, as opposed to not answering it. */
export function isRequestFailure(error: unknown): error is RequestFailure {
  return error instanceof Error && 'code' in error && typeof error.code === 'number'
}

/** The error's message, with its data where they say something else; at most 500 characters. */
export function detailOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const data = isRequestFailure(error) && error.data !== undefined && error.data !== null ? sayingOf(error.data) : ''
  const isNew = data !== '' && !message.includes(data)
  return shortened(isNew ? `${message}: ${data}` : message)
}

export const shortened = (text: string): string =>
  text.length <= MAX_DETAIL_CHARS ? text : `${text.slice(0, MAX_DETAIL_CHARS - 1)}…`

function sayingOf(data: unknown): string {
  if (typeof data === 'string') return data
  const inner = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {}
  for (const name of ['details', 'message', 'error']) if (typeof inner[name] === 'string') return inner[name]
  return JSON.stringify(data)
}

/** Whether the agent wants somebody to log in. A model's name or a duration with these digits does not. */
export function wantsLogin(error: unknown): boolean {
  if (isRequestFailure(error) && error.code === AUTH_REQUIRED) return true
  return AUTH.test(withoutNames(everything(error)))
}

/** Whether the agent's provider refused because of its rules. */
export const isPolicyRefusal = (error: unknown): boolean => POLICY.test(everything(error))

/** Everything that an error says, its data included. */
function everything(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const data = isRequestFailure(error) && error.data !== undefined ? JSON.stringify(error.data) : ''
  return `${message} ${data}`
}

/** Without words of which such digits are only a part, such as `x-401b` or `model-403`. */
const withoutNames = (text: string): string =>
  text.replaceAll(/[\w.]+(?:-[\w.]+)+/g, (word) => (/re-?auth/i.test(word) ? word : ' '))

/** What a failure during the start is called. */
export function startFailure(error: unknown): AcpFailure {
  if (error instanceof AcpFailure) return error
  if (wantsLogin(error)) return new AcpFailure('ACPAuthRequired', detailOf(error), error)
  return new AcpFailure('ACPInitError', detailOf(error), error)
}

/** What a failure of a prompt is called. */
export function promptFailure(error: unknown): AcpFailure {
  if (error instanceof AcpFailure) return error
  if (isPolicyRefusal(error)) return new AcpFailure('UsagePolicyRefusal', detailOf(error), error)
  if (wantsLogin(error)) return new AcpFailure('ACPAuthRequired', detailOf(error), error)
  return new AcpFailure('ACPPromptError', detailOf(error), error)
}

/** A failure that may be told, and is logged. Whatever else was thrown belongs to the start of the agent. */
export function toldFailure(
  error: unknown,
  { conversationId, log }: { conversationId: string; log: { error(fields: object, message: string): void } },
): AcpFailure {
  const failure = error instanceof AcpFailure ? error : new AcpFailure('ACPInitError', detailOf(error), error)
  log.error({ conversation_id: conversationId, code: failure.code }, 'the external agent failed')
  return new AcpFailure(failure.code, shortened(failure.message), failure)
}
