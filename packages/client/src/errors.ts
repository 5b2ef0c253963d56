/** Errors of calls to a server. */

/** A refusal, or a missing answer. `message` is written for people. */
export class CallError extends Error {
  /** HTTP status; null when no answer came. */
  readonly status: number | null
  /** `detail` of the answer's body, unchanged: usually a sentence or a list of validation failures. */
  readonly detail: unknown
  /** Milliseconds from the `Retry-After` header; null without one. */
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

  /** True when the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === null || this.status === 408 || this.status === 429 || this.status >= 500
  }
}

/** Text of a `detail`; a list of validation failures becomes `body.workspace: Field required; …`. */
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
