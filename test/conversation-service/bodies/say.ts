/**
 * The texts of the 422 format, derived from its description and not from the server. Source: conversation-service.md 7.
 * `at` is the place inside the body.
 */

export type At = readonly (string | number)[]
export type Entry = { type: string; loc: At; msg: string; input: unknown; ctx?: Record<string, unknown> }

/** One body and its answer. */
export type Row = {
  name: string
  /** A text or bytes are sent unchanged, other values as JSON. */
  body: unknown
  /** Absent: JSON. Null: none is sent. */
  contentType?: string | null
} & ({ detail: Entry[] } | { status: number; json?: unknown })

export const HIDDEN = '**********'

const entry = (type: string, at: At, msg: string, input: unknown, ctx?: Record<string, unknown>): Entry => ({
  type,
  loc: ['body', ...at],
  msg,
  input,
  ...(ctx && { ctx }),
})

const INT = 'Input should be a valid integer'
const NUMBER = 'Input should be a valid number'
const BOOL = 'Input should be a valid boolean'

/** A kind of failure at a place, with the refused value. */
type Say = (at: At, input: unknown) => Entry
const always =
  (type: string, msg: string, ctx?: Record<string, unknown>): Say =>
  (at, input) =>
    entry(type, at, msg, input, ctx)

export const missing = always('missing', 'Field required')
export const extra = always('extra_forbidden', 'Extra inputs are not permitted')
export const stringType = always('string_type', 'Input should be a valid string')
const intType = always('int_type', INT)
export const intParsing = always('int_parsing', `${INT}, unable to parse string as an integer`)
const intFromFloat = always('int_from_float', `${INT}, got a number with a fractional part`)
const intSize = always('int_parsing_size', 'Unable to parse input string as an integer, exceeded maximum size')
export const floatType = always('float_type', NUMBER)
const floatParsing = always('float_parsing', `${NUMBER}, unable to parse string as a number`)
const finite = always('finite_number', 'Input should be a finite number')
export const boolType = always('bool_type', BOOL)
const boolParsing = always('bool_parsing', `${BOOL}, unable to interpret input`)
export const listType = always('list_type', 'Input should be a valid list')
export const tupleType = always('tuple_type', 'Input should be a valid tuple')
export const dictType = always('dict_type', 'Input should be a valid dictionary')
export const modelType = always(
  'model_attributes_type',
  'Input should be a valid dictionary or object to extract fields from',
)
export const uuidType = always('uuid_type', 'UUID input should be a string, bytes or UUID object')
const dateType = always('datetime_type', 'Input should be a valid datetime')
export const greater = (than: number) => always('greater_than', `Input should be greater than ${than}`, { gt: than })
export const atLeast = (least: number) =>
  always('greater_than_equal', `Input should be greater than or equal to ${least}`, { ge: least })
export const tooShort = (least: string, min_length: number) =>
  always('string_too_short', `String should have at least ${least}`, { min_length })
export const tooLong = (max_length: number) =>
  always('string_too_long', `String should have at most ${max_length} characters`, { max_length })
export const pattern = (text: string) =>
  always('string_pattern_mismatch', `String should match pattern '${text}'`, { pattern: text })
export const oneOf = (expected: string) => always('enum', `Input should be ${expected}`, { expected })
export const refused = (text: string) => always('value_error', `Value error, ${text}`, { error: {} })
export const badUuid = (error: string) => always('uuid_parsing', `Input should be a valid UUID, ${error}`, { error })
const badDate = (error: string) =>
  always('datetime_from_date_parsing', `Input should be a valid datetime or date, ${error}`, { error })
export const malformed = (offset: number, error: string): Entry =>
  entry('json_invalid', [offset], 'JSON decode error', {}, { error })

/** Refused values of each type, with the code of the failure. Null is refused too, unless the member may be null. */
const WRONG = {
  text: [5, true, ['x'], { a: 'b' }].map((value) => [value, stringType] as const),
  integer: [
    ['many', intParsing],
    ['', intParsing],
    ['5.5', intParsing],
    ['1e3', intParsing],
    ['0x10', intParsing],
    ['1__0', intParsing],
    [5.5, intFromFloat],
    [1e20, intSize],
    [[], intType],
    [{}, intType],
  ],
  number: [
    ['many', floatParsing],
    ['', floatParsing],
    ['0x10', floatParsing],
    ['inf', finite],
    ['nan', finite],
    [[], floatType],
    [{}, floatType],
  ],
  boolean: [
    ['maybe', boolParsing],
    ['', boolParsing],
    [' true ', boolParsing],
    [2, boolParsing],
    [-1, boolParsing],
    [5.5, boolType],
    [1e20, boolType],
    [[], boolType],
    [{}, boolType],
  ],
  list: ['x', 5, { a: 1 }].map((value) => [value, listType] as const),
  map: ['x', 5, ['x']].map((value) => [value, dictType] as const),
  model: ['x', 5, true, ['x']].map((value) => [value, modelType] as const),
  uuid: [
    [5, uuidType],
    [true, uuidType],
    [{}, uuidType],
    ['x', badUuid('invalid character: found `x` at 1')],
    ['', badUuid('invalid length: expected length 32 for simple format, found 0')],
    ['0f0e0d0c-0b0a-4908-8706-0504030201', badUuid('invalid group length in group 4: expected 12, found 10')],
    ['0f0e0d0c-0b0a-4908-870605040302', badUuid('invalid group count: expected 5, found 4')],
  ],
  date: [
    [true, dateType],
    [[], dateType],
    [{}, dateType],
    ['x', badDate('input is too short')],
    ['', badDate('input is too short')],
    ['2026-2-3', badDate('input is too short')],
    ['not-a-date-at-all', badDate('invalid character in year')],
    ['2026-13-01', badDate('month value is outside expected range of 1-12')],
    ['2026-02-30', badDate('day value is outside expected range')],
    ['2026-02-03T10:00:00Zx', badDate('unexpected extra characters at the end of the input')],
    [1e15, badDate('dates after 9999 are not supported as unix timestamps')],
    [-1e15, badDate('dates before 0000 are not supported as unix timestamps')],
  ],
} as const satisfies Record<string, readonly (readonly [unknown, Say])[]>

const OF_NULL: Record<Type, Say> = {
  text: stringType,
  integer: intType,
  number: floatType,
  boolean: boolType,
  list: listType,
  map: dictType,
  model: modelType,
  uuid: uuidType,
  date: dateType,
}

export type Type = keyof typeof WRONG
type Wrong = { value: unknown; say: Say }

/** All values of the list above that a member of this type refuses. */
function wrongOf(type: Type, nullable: boolean): Wrong[] {
  const wrong: Wrong[] = WRONG[type].map(([value, say]) => ({ value, say }))
  return nullable ? wrong : [...wrong, { value: null, say: OF_NULL[type] }]
}

/** Texts and numbers as answers show them below a name that suggests a secret. */
export function hidden(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'number') return HIDDEN
  if (Array.isArray(value)) return value.map(hidden)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hidden(member)]))
}

/** `body` with `place` replaced; missing parts are created. */
function withAt(body: unknown, [head, ...rest]: At, value: unknown): unknown {
  if (head === undefined) return value
  const inner = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[head] : undefined
  if (typeof head === 'number') {
    const copy = Array.isArray(body) ? [...body] : []
    copy[head] = withAt(inner, rest, value)
    return copy
  }
  return { ...(body as object), [head]: withAt(inner, rest, value) }
}

/**
 * One row per refused value of a member: `name` of `base` set to it.
 * @param options `isSecret`: the answer masks the value. `base`: other members that the body needs.
 */
export function rowsOf(
  at: At,
  type: Type,
  { nullable = true, isSecret = false, base = {} }: { nullable?: boolean; isSecret?: boolean; base?: unknown } = {},
): Row[] {
  return wrongOf(type, nullable).map(({ value, say }) => ({
    name: `${at.join('.')} = ${JSON.stringify(value)}`,
    body: withAt(base, at, value),
    detail: [say(at, isSecret ? hidden(value) : value)],
  }))
}

/** A row with one failure at one place. */
export const row = (at: At, value: unknown, say: Say, base: unknown = {}): Row => ({
  name: `${at.join('.')} = ${JSON.stringify(value)?.slice(0, 80)}`,
  body: withAt(base, at, value),
  detail: [say(at, value)],
})
