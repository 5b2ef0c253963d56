/**
 * Text with rules: bounded, non-blank, UUID, date-time, secret. Same conventions as `lax.ts`. Source:
 * conversation-service.md 7.3.
 */
import { z } from 'zod'
import type { ConversationId, EventId } from './ids.ts'
import { no, ok, scalar, shared, type Read } from './lax.ts'

const notText = () => no('string_type', 'Input should be a valid string')

/** A `value_error` with this text. */
export const refusedValue = (text: string) => no('value_error', `Value error, ${text}`, { error: {} })

/** Marks a `refine` as a `value_error`; pass it as the second argument. */
export const valueError = (text: string) => ({
  error: `Value error, ${text}`,
  params: { type: 'value_error', ctx: { error: {} } },
})

/** Length in code points: an emoji is 1. */
const lengthOf = (text: string) => {
  let length = 0
  for (const _ of text) length++
  return length
}
/** A code point has one or two units, so only texts near a bound are counted. */
const isShorter = (text: string, min: number) => text.length < min || (text.length < 2 * min && lengthOf(text) < min)
/** True for a text of more than `max` code points. */
export const isLonger = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || lengthOf(text) > max)

const characters = (count: number) => `${count} ${count === 1 ? 'character' : 'characters'}`

/** Text of bounded length, in code points, and of one pattern. */
export const text = shared((rules: { min?: number; max?: number; pattern?: RegExp }): z.ZodType<string, string> => {
  const { min, max, pattern } = rules
  const read = (value: unknown): Read<string> => {
    if (typeof value !== 'string') return notText()
    if (min !== undefined && isShorter(value, min))
      return no('string_too_short', `String should have at least ${characters(min)}`, { min_length: min })
    if (max !== undefined && isLonger(value, max))
      return no('string_too_long', `String should have at most ${characters(max)}`, { max_length: max })
    if (pattern !== undefined && !pattern.test(value))
      return no('string_pattern_mismatch', `String should match pattern '${pattern.source}'`, {
        pattern: pattern.source,
      })
    return ok(value)
  }
  const documented = {
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
    ...(pattern !== undefined && { pattern: pattern.source }),
  }
  return scalar(read, z.string().meta(documented))
})

/** Non-blank text; surrounding blanks are kept. Refused as a `value_error`. */
export const nonBlank = shared((): z.ZodType<string, string> =>
  scalar(
    (value) => {
      if (typeof value !== 'string') return notText()
      return value.trim() === '' ? refusedValue('Value must not be blank') : ok(value)
    },
    z.string().meta({ minLength: 1 }),
  ),
)

/** Placeholder of an existing secret. */
export const MASK = '**********'

/** A secret in a request: empty, blank or masked text means none. Source: agent-server-wire.md 8.2. */
export const secretText = shared(() =>
  z
    .string()
    .meta({ format: 'password' })
    .nullable()
    .default(null)
    .transform((value) => (value === null || value.trim() === '' || value === MASK ? null : value)),
)

const GROUPS = [8, 4, 4, 4, 12]
const HYPHEN = 0x2d

/** Number of groups between hyphens, without making texts of them. */
const groupsIn = (text: string): number => {
  let count = 1
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === HYPHEN) count++
  return count
}

const badUuid = (error: string) => no('uuid_parsing', `Input should be a valid UUID, ${error}`, { error })

function readUuid(value: unknown): Read<string> {
  if (typeof value !== 'string') return no('uuid_type', 'UUID input should be a string, bytes or UUID object')
  const inner = value.startsWith('{') && value.endsWith('}') ? value.slice(1, -1) : value.replace(/^urn:uuid:/, '')
  const offset = value.indexOf(inner)
  const bad = inner.search(/[^0-9a-fA-F-]/)
  if (bad !== -1) {
    const found = String.fromCodePoint(inner.codePointAt(bad) ?? 0)
    return badUuid(`invalid character: found \`${found}\` at ${offset + bad + 1}`)
  }
  const groups = inner.split('-', GROUPS.length + 1)
  if (groups.length === 1) {
    if (inner.length !== 32)
      return badUuid(`invalid length: expected length 32 for simple format, found ${inner.length}`)
  } else {
    if (groups.length !== GROUPS.length) return badUuid(`invalid group count: expected 5, found ${groupsIn(inner)}`)
    const wrong = groups.findIndex((group, at) => group.length !== GROUPS[at])
    if (wrong !== -1)
      return badUuid(
        `invalid group length in group ${wrong}: expected ${GROUPS[wrong]}, found ${groups[wrong]?.length ?? 0}`,
      )
  }
  const hex = groups.join('').toLowerCase()
  return ok(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`)
}

/** A UUID with or without dashes, in braces or as a URN, in any case; parsed to dashed lower case. */
export const laxUuid = shared((): z.ZodType<string, string> => scalar(readUuid, z.string().meta({ format: 'uuid' })))

/** A conversation id in any of the spellings of `laxUuid`. */
export const laxConversationId = () => laxUuid() as unknown as z.ZodType<ConversationId, string>

/** As `laxConversationId`, for an event. */
export const laxEventId = () => laxUuid() as unknown as z.ZodType<EventId, string>

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?)?$/
const NUMERIC = /^[+-]?\d+(?:\.\d+)?$/
/** Larger Unix times are milliseconds. */
const MOST_SECONDS = 2e10

const badDate = (error: string) =>
  no('datetime_from_date_parsing', `Input should be a valid datetime or date, ${error}`, { error })

/** True for a year with four digits. */
const hasPlainYear = (date: Date): boolean => date.getUTCFullYear() >= 0 && date.getUTCFullYear() <= 9999

const fromUnix = (value: number): Read<string> => {
  const date = new Date(Math.abs(value) > MOST_SECONDS ? value : value * 1000)
  if (hasPlainYear(date)) return ok(date.toISOString())
  return badDate(`dates ${value > 0 ? 'after 9999' : 'before 0000'} are not supported as unix timestamps`)
}

function readDateTime(value: unknown): Read<string> {
  if (typeof value === 'number' && Number.isFinite(value)) return fromUnix(value)
  if (typeof value !== 'string') return no('datetime_type', 'Input should be a valid datetime')
  if (NUMERIC.test(value)) return fromUnix(Number(value))
  if (value.length < 10) return badDate('input is too short')
  if (!/^\d{4}/.test(value)) return badDate('invalid character in year')
  const match = DATE_TIME.exec(value)
  if (match === null) return badDate('unexpected extra characters at the end of the input')
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction = '', z, sign, oh, om] =
    match
  if (Number(month) < 1 || Number(month) > 12) return badDate('month value is outside expected range of 1-12')
  if (Number(day) < 1 || Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate())
    return badDate('day value is outside expected range')
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59 || Number(oh ?? 0) > 23 || Number(om ?? 0) > 59)
    return badDate('unexpected extra characters at the end of the input')
  const digits = fraction.slice(0, 6)
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const tail = digits === '' ? '' : `.${digits.padEnd(6, '0')}`
  if (z === undefined && sign === undefined) return ok(local + tail)
  const minutes = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(oh) * 60 + Number(om))
  const utc = new Date(Date.parse(`${local}Z`) - minutes * 60_000)
  if (!hasPlainYear(utc)) return badDate('input is out of range')
  return ok(`${utc.toISOString().slice(0, 19)}${tail}Z`)
}

/**
 * An ISO date or date-time, or a Unix time in seconds or milliseconds. Zone-less text stays zone-less; any offset becomes UTC
 * with `Z`. Fractions are cut to microseconds.
 */
export const laxDateTime = shared((): z.ZodType<string, string> =>
  scalar(readDateTime, z.string().meta({ format: 'date-time' })),
)

/** A date-time in the form of event timestamps (UTC, six digits, no offset), so that both compare as text. */
export const laxEventTime = shared((): z.ZodType<string, string> => {
  const read = (value: unknown): Read<string> => {
    const got = readDateTime(value)
    if (!got.ok) return got
    const [whole = '', fraction = ''] = got.value.replace('Z', '').split('.')
    return ok(`${whole}.${fraction.padEnd(6, '0')}`)
  }
  return scalar(read, z.string().meta({ format: 'date-time' }))
})

/** Most seqs of one range. */
const MAX_RANGE = 500

/** Seqs from `first` to `last` of a log, both included, as the text `first-last`; at most 500. */
export const laxSeqRange = shared((): z.ZodType<string, string> =>
  scalar(
    (value) => {
      if (typeof value !== 'string') return notText()
      const found = /^([0-9]{1,15})-([0-9]{1,15})$/.exec(value)
      const [first, last] = [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)]
      if (first < 1 || last < first) return refusedValue('Value must be two seqs, as 101-200')
      if (last - first >= MAX_RANGE) return refusedValue(`Value must have at most ${MAX_RANGE} seqs`)
      return ok(`${first}-${last}`)
    },
    z.string().meta({ pattern: '^[0-9]+-[0-9]+$' }),
  ),
)
