/** Errors of calls to the server. */

/** A refusal by the server, or a missing answer. `message` is written for people. */
export class ServerError extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  /** `detail` of the answer's body, unchanged: usually a sentence or a list of validation failures. */
  readonly detail: unknown
  /** Facts for programs beside `detail`, such as a `reason`. */
  facts: Readonly<Record<string, unknown>> = {}

  constructor(message: string, status: number, detail: unknown = null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ServerError'
    this.status = status
    this.detail = detail
  }

  /** True when no answer came: the server or the network is not reachable. */
  get isOffline(): boolean {
    return this.status === 0
  }
}

/** The text of a thrown value for people. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A sentence from the body of a refusal; a list of validation failures becomes `body.workspace: Field required; …`. */
export function sentenceOf(status: number, detail: unknown): string {
  if (typeof detail === 'string' && detail !== '') return detail
  if (Array.isArray(detail)) return detail.map(failureText).join('; ')
  return `The server answered with status ${status}.`
}

function failureText(failure: unknown): string {
  const { loc, msg } = (failure ?? {}) as { loc?: unknown; msg?: unknown }
  // A sentence of the server names the value itself; the other messages are about an unnamed one.
  const [, sentence] = /^(?:Value error|Assertion failed), (.*)$/s.exec(String(msg)) ?? []
  if (sentence !== undefined) return sentence
  const place = Array.isArray(loc) ? loc.slice(1).join('.') : ''
  return place === '' ? String(msg) : `${place}: ${String(msg)}`
}
