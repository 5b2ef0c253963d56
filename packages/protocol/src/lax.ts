/**
 * Scalars that accept the forms of other writers of this wire: `"5"` is 5, `"yes"` is true; strings accept only
 * strings.
 *
 * Every failure is a zod issue of code `custom` whose `params.type` is the type word of the 422 format and whose
 * message is its
 * exact text, with `params.ctx` where the format has one; `missing` stands for an absent member.
 * Source: conversation-service.md 7.3 and 7.5.
 */
import { z } from 'zod'

/** `params` of an issue made here or in `unions.ts`, for the mapper of the 422 format. */
export type IssueParams = {
  type: string
  ctx?: Record<string, unknown>
  /** Members that are left out of `input` in the format. */
  omit?: readonly string[]
  /** Tags to insert into `loc`, each before the last `fromEnd` segments of the path. */
  tags?: readonly { tag: string; fromEnd: number }[]
  /** The record without a required member, where its path in the body does not identify it. */
  owner?: unknown
}

/** Bounds, each of which is checked after coercion. */
export type Bounds = { gt?: number; ge?: number; lt?: number; le?: number }

type Refusal = { type: string; msg: string; ctx?: Record<string, unknown> }
export type Read<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

export const ok = <T>(value: T): Read<T> => ({ ok: true, value })
export const no = (type: string, msg: string, ctx?: Record<string, unknown>): Read<never> => ({
  ok: false,
  refusal: ctx === undefined ? { type, msg } : { type, msg, ctx },
})

/** A schema that parses with `read`; `shape` replaces it in the documentation and in the types. */
export function scalar<T>(read: (value: unknown) => Read<T>, shape: z.ZodType<T>): z.ZodType<T, T> {
  const reader = z.transform((value: unknown, ctx): T => {
    const got = value === undefined ? no('missing', 'Field required') : read(value)
    if (got.ok) return got.value
    const { type, msg, ctx: context } = got.refusal
    const params: IssueParams = context === undefined ? { type } : { type, ctx: context }
    ctx.addIssue({ code: 'custom', input: value, message: msg, params })
    return z.NEVER
  })
  return z.pipe(reader, shape as never) as unknown as z.ZodType<T, T>
}

/**
 * One schema for each set of rules: schemas are immutable, and each stays in memory as long as the process. `make` is called
 * with rules of the source code only: what it returns is never forgotten.
 */
export function shared<R extends object, S>(make: (rules: R) => S): (rules?: R) => S {
  const made = new Map<string, S>()
  return (rules = {} as R) => {
    const key = Object.entries(rules).join(' ')
    const known = made.get(key)
    if (known !== undefined) return known
    const schema = make(rules)
    made.set(key, schema)
    return schema
  }
}

const INT = 'Input should be a valid integer'
const INT_TEXT = /^[+-]?\d+(?:_\d+)*(?:\.0+)?$/
const MAX_DIGITS = 4300
/** Blanks around a number are allowed. */
const trimmed = (text: string): string => text.trim()

function readInt(value: unknown): Read<number> {
  if (typeof value === 'boolean') return ok(value ? 1 : 0)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return no('finite_number', 'Input should be a finite number')
    if (!Number.isInteger(value)) return no('int_from_float', `${INT}, got a number with a fractional part`)
    return sized(value)
  }
  if (typeof value !== 'string') return no('int_type', INT)
  const text = trimmed(value)
  if (text.length > MAX_DIGITS) return tooBig()
  if (!INT_TEXT.test(text)) return no('int_parsing', `${INT}, unable to parse string as an integer`)
  return sized(Number(text.replaceAll('_', '')))
}

/** The same limit for both forms: a stored number is read again, as a number. */
const sized = (value: number) => (Math.abs(value) >= 2 ** 63 ? tooBig() : ok(value === 0 ? 0 : value))

const tooBig = () => no('int_parsing_size', 'Unable to parse input string as an integer, exceeded maximum size')

const FLOAT = 'Input should be a valid number'
/** Each digit can be read in one way only: a long text that is no number must not be tried in many. */
const FLOAT_TEXT = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?$/i
/** No longer text is read as a number. */
const MAX_FLOAT_CHARS = 65_536
const NOT_FINITE = /^[+-]?(?:inf|infinity|nan)$/i

function readNumber(value: unknown): Read<number> {
  if (typeof value === 'boolean') return ok(value ? 1 : 0)
  if (typeof value === 'number') return finite(value)
  if (typeof value !== 'string') return no('float_type', FLOAT)
  const text = trimmed(value)
  if (NOT_FINITE.test(text)) return finite(Number.NaN)
  if (text.length > MAX_FLOAT_CHARS || !FLOAT_TEXT.test(text))
    return no('float_parsing', `${FLOAT}, unable to parse string as a number`)
  return finite(Number(text.replaceAll('_', '')))
}

const finite = (value: number) =>
  Number.isFinite(value) ? ok(value) : no('finite_number', 'Input should be a finite number')

const BOOL = 'Input should be a valid boolean'
const WORDS: Record<string, boolean> = {
  ...Object.fromEntries(['true', 't', 'yes', 'y', 'on', '1'].map((word) => [word, true])),
  ...Object.fromEntries(['false', 'f', 'no', 'n', 'off', '0'].map((word) => [word, false])),
}

function readBoolean(value: unknown): Read<boolean> {
  if (typeof value === 'boolean') return ok(value)
  if (value === 0 || value === 1) return ok(value === 1)
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return no('bool_type', BOOL)
  if (typeof value !== 'number' && typeof value !== 'string') return no('bool_type', BOOL)
  const word = String(value).toLowerCase()
  const known = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
  return known === undefined ? no('bool_parsing', `${BOOL}, unable to interpret input`) : ok(known)
}

const BOUNDS = [
  ['gt', 'greater_than', 'greater than', (value: number, bound: number) => value > bound],
  ['ge', 'greater_than_equal', 'greater than or equal to', (value: number, bound: number) => value >= bound],
  ['lt', 'less_than', 'less than', (value: number, bound: number) => value < bound],
  ['le', 'less_than_equal', 'less than or equal to', (value: number, bound: number) => value <= bound],
] as const

const within =
  (read: (value: unknown) => Read<number>, bounds: Bounds) =>
  (value: unknown): Read<number> => {
    const got = read(value)
    if (!got.ok) return got
    for (const [name, type, words, holds] of BOUNDS) {
      const bound = bounds[name]
      if (bound !== undefined && !holds(got.value, bound)) {
        return no(type, `Input should be ${words} ${bound}`, { [name]: bound })
      }
    }
    return got
  }

const documented = ({ gt, ge, lt, le }: Bounds) => ({
  ...(gt !== undefined && { exclusiveMinimum: gt }),
  ...(ge !== undefined && { minimum: ge }),
  ...(lt !== undefined && { exclusiveMaximum: lt }),
  ...(le !== undefined && { maximum: le }),
})

/** A whole number from 5, 5.0, true, `"5"`, `" 5 "`, `"5.0"`, `"1_000"`. */
export const laxInt = shared((bounds: Bounds): z.ZodType<number, number> =>
  scalar(within(readInt, bounds), z.number().meta({ type: 'integer', ...documented(bounds) })),
)

/** A finite number from a number, a boolean or a decimal string. */
export const laxNumber = shared((bounds: Bounds): z.ZodType<number, number> =>
  scalar(within(readNumber, bounds), z.number().meta(documented(bounds))),
)

/** A boolean from a boolean, 0 or 1, or one of the words true/t/yes/y/on/1 and their opposites, in any case, without blanks. */
export const laxBoolean = shared((): z.ZodType<boolean, boolean> => scalar(readBoolean, z.boolean()))
