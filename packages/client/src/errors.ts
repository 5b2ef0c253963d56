/** What goes wrong between a client and its server. */

/** An answer that is a refusal, or no answer at all. `message` is written for people. */
export class CallError extends Error {
  /** HTTP status; null when no answer came. */
  readonly status: number | null
  /** `detail` of the body as it came: a sentence, a list of validation failures, or something else. */
  readonly detail: unknown
  /** Milliseconds the server asks to wait; null when it says nothing. */
  readonly retryAfterMs: number | null

  constructor(
    message: string,
    fields: { status: number | null; detail?: unknown; retryAfterMs?: number | null; cause?: unknown },
  ) {
    super(message, 'cause' in fields ? { cause: fields.cause } : undefined)
    this.name = 'CallError'
    this.status = fields.status
    this.detail = fields.detail ?? null
    this.retryAfterMs = fields.retryAfterMs ?? null
  }

  /** The same request may succeed a little later. */
  get isPassing(): boolean {
    return this.status === null || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

/** The first words of a failure list: `body.workspace: Field required`. Anything else as it is. */
export function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail
  if (!Array.isArray(detail)) return JSON.stringify(detail) ?? ''
  return detail
    .map((failure: unknown) => {
      const { loc, msg } = (failure ?? {}) as { loc?: unknown; msg?: unknown }
      const place = Array.isArray(loc) ? loc.join('.') : ''
      return place === '' ? String(msg) : `${place}: ${String(msg)}`
    })
    .join('; ')
}
