/**
 * Converts a value that an operation refused after the schemas had accepted the request to the 422 format, so that clients read one
 * format for every invalid input. Source: conversation-service.md 7.
 */
import { isRecord, type InvalidValue, type Place, type ValidationError } from '@parley/protocol'
import { InvalidInput, read } from './validation.ts'

/** The parts of a request as they were sent; undefined for a part that the operation does not read. */
export type SentParts = { body: unknown; path: unknown; query: unknown }

/** The 422 for a refused value of this request. Facts for programs stay members beside `detail`. */
export function refusedValue(error: InvalidValue, sent: SentParts): InvalidInput {
  const part = partOf(error.at, sent)
  const loc = [part, ...error.at]
  if (error.misfit !== null) {
    const { entries } = read(error.misfit.schema, error.misfit.value, loc)
    if (entries.length > 0) return new InvalidInput(entries, error.details)
  }
  const { input, depth } = nearest(sent[part], error.at)
  const inputAt = loc.slice(0, depth + 1)
  return new InvalidInput([{ ...valueError(error.message), loc, input, inputAt }], error.details)
}

/** The entry of a value that was refused where no request is known. */
export const valueErrorOf = (message: string): ValidationError => ({
  ...valueError(message),
  loc: ['body'],
  input: null,
  ctx: { error: {} },
})

const valueError = (message: string) => ({ type: 'value_error', msg: `Value error, ${message}`, ctx: { error: {} } })

const PARTS = ['body', 'path', 'query'] as const

/** The part that has the outermost member of the place; else the first part that the operation reads. */
function partOf([outermost]: Place, sent: SentParts): (typeof PARTS)[number] {
  const has = (part: (typeof PARTS)[number]) => {
    const value = sent[part]
    return typeof value === 'object' && value !== null && outermost !== undefined && Object.hasOwn(value, outermost)
  }
  return PARTS.find(has) ?? PARTS.find((part) => sent[part] !== undefined) ?? 'body'
}

/** The value at the place, or the nearest one around it; `depth` counts the members that lead to it. */
function nearest(value: unknown, [member, ...others]: Place, depth = 0): { input: unknown; depth: number } {
  const isThere = member !== undefined && (isRecord(value) || Array.isArray(value)) && Object.hasOwn(value, member)
  if (!isThere) return { input: value, depth }
  return nearest((value as Record<string | number, unknown>)[member], others, depth + 1)
}
