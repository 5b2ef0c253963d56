/** Expected refusals and the body of a 422. Only the server's `http` module maps codes to statuses. */
import { z } from 'zod'

export const ErrorCode = z.enum([
  'not_found',
  'conflict',
  'invalid_input',
  'bad_request',
  'nothing_pending',
  'unauthenticated',
  'forbidden',
  'too_large',
  'rate_limited',
  'unavailable',
  'unsupported',
  'timed_out',
])
export type ErrorCode = z.infer<typeof ErrorCode>

/** A refusal that the caller can act on; any other thrown error is a bug. `details` never contains a secret. */
export class ParleyError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ParleyError'
    this.code = code
    this.details = options.details ?? {}
  }
}

export const ValidationError = z.object({
  type: z.string(),
  loc: z.array(z.union([z.string(), z.int()])),
  msg: z.string(),
  input: z.unknown().optional(),
  ctx: z.record(z.string(), z.unknown()).optional(),
})
/** One failure in a request that does not parse. Source: interface.md, Errors. */
export type ValidationError = z.infer<typeof ValidationError>

export const HTTPValidationError = z.object({ detail: z.array(ValidationError) })
/** The body of a 422. Source: interface.md, Errors. */
export type HTTPValidationError = z.infer<typeof HTTPValidationError>

/**
 * Closes a `switch` over a union: does not compile while a kind is missing, and throws for an unknown one at run time.
 */
export function unreachable(value: never): never {
  throw new Error(`unhandled kind: ${JSON.stringify(value)}`)
}
