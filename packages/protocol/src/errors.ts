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
  'insufficient_storage',
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

/** Names and indexes of a member, from the outermost one inwards; a refused name of a map is followed by `[key]`. */
export type Place = readonly (string | number)[]

/** A value and the schema that it does not fit. */
export type Misfit = { schema: z.ZodType; value: unknown }

/**
 * A refusal of one value of a request, made by `invalidInput` alone. The HTTP API answers it with 422 and the place.
 * Source: conversation-service.md 7.
 */
export class InvalidValue extends ParleyError {
  /** Place of the value, relative to what the refusing function was given; `under` completes it. */
  readonly at: Place
  /** Null: the message says what is wrong. */
  readonly misfit: Misfit | null

  constructor(message: string, at: Place, { misfit = null, ...options }: InvalidValueOptions = {}) {
    super('invalid_input', message, options)
    this.name = 'InvalidValue'
    this.at = at
    this.misfit = misfit
  }
}

type InvalidValueOptions = { details?: Record<string, unknown>; cause?: unknown; misfit?: Misfit | null }

/**
 * The error for a value that the caller has to change: of a request, of a tool call or of a command line.
 * @param message a sentence that names the value and a remedy; it is shown to the caller and contains no secret
 * @param at place of the value, relative to what the caller of the throwing function passed to it
 */
export const invalidInput = (message: string, at: Place = [], options: InvalidValueOptions = {}): InvalidValue =>
  new InvalidValue(message, at, options)

/** Returns the result of `work`; a value that it refuses, at once or later, is placed below `place`. */
export const under = <T>(place: Place, work: () => T): T =>
  moving(({ at, ...error }) => ({ ...error, at: [...place, ...at] }), work)

/**
 * Returns the result of `work`; a value that it refuses, at once or later, is reported at the place that `placeOf` makes of its own. For
 * values that are not part of the request: the member of the request that led to them is reported, by the message alone.
 */
export const relocate = <T>(placeOf: (at: Place) => Place, work: () => T): T =>
  moving(({ at, ...error }) => ({ ...error, at: placeOf(at), misfit: null }), work)

type Placed = Pick<InvalidValue, 'at' | 'misfit' | 'details'>

function moving<T>(moved: (error: Placed) => Placed, work: () => T): T {
  const fail = (error: unknown): never => {
    if (!(error instanceof InvalidValue)) throw error
    const { at, misfit, details } = moved({ at: error.at, misfit: error.misfit, details: error.details })
    throw new InvalidValue(error.message, at, { misfit, details, cause: error })
  }
  try {
    const result = work()
    return (result instanceof Promise ? result.catch(fail) : result) as T
  } catch (error) {
    return fail(error)
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
