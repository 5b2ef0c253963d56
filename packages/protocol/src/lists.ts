/**
 * Lists and maps of requests. Each has a largest length, which is checked before its members are read, and reading stops when enough
 * failures are found: the time for a request depends neither on the length of a list nor on the number of its faults.
 * Source: docs/errors.md, Size of a body.
 */
import { z } from 'zod'
import { MAX_JSON_VALUES } from './json-scan.ts'
import type { IssueParams } from './lax.ts'

/** Failures of one request that are reported; the reading of a list or a map stops there. Source: docs/security.md, Limits. */
export const MAX_ISSUES = 50

/** Largest numbers of members. Source: docs/errors.md, Size of a body. */
export const LIST_LIMITS = {
  /** Ids in one request. */
  ids: 100,
  /** Every list and map without a limit of its own. */
  members: 1_000,
  /** Lists that only servers write, such as the usage of a long conversation: no stricter than the body itself. */
  recorded: MAX_JSON_VALUES,
} as const

type Payload = z.core.ParsePayload
type ListDef = z.core.$ZodArrayDef & { maximum: number }
type MapDef = z.core.$ZodRecordDef & { maximum: number }

/** Never asynchronous: the schemas of this package are not. */
function run(schema: z.core.$ZodType, value: unknown, ctx: z.core.ParseContextInternal): Payload {
  const result = schema._zod.run({ value, issues: [] }, ctx)
  if (result instanceof Promise) throw new Error('schemas of this package are synchronous')
  return result
}

const BoundedList = z.core.$constructor<z.ZodArray, ListDef>('BoundedList', (inst, def) => {
  z.ZodArray.init(inst, def)
  const { element, maximum } = def
  // The documentation reads it here.
  inst._zod.bag['maximum'] = maximum
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value as unknown
    if (!Array.isArray(input)) {
      payload.issues.push({ code: 'invalid_type', expected: 'array', input, inst })
      return payload
    }
    if (input.length > maximum) {
      payload.issues.push({ code: 'too_big', origin: 'array', maximum, inclusive: true, input, inst, continue: false })
      return payload
    }
    const output: unknown[] = []
    payload.value = output
    for (const [index, item] of input.entries()) {
      const { value, issues } = run(element, item, ctx)
      if (issues.length > 0) payload.issues.push(...z.core.util.prefixIssues(index, issues.slice(0, MAX_ISSUES)))
      if (payload.issues.length >= MAX_ISSUES) break
      output.push(value)
    }
    return payload
  }
})

const BoundedMap = z.core.$constructor<z.ZodRecord, MapDef>('BoundedMap', (inst, def) => {
  z.ZodRecord.init(inst, def)
  const { maximum } = def
  const whole = inst._zod.parse.bind(inst._zod) as (payload: Payload, ctx: z.core.ParseContextInternal) => Payload
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value as unknown
    if (!z.core.util.isPlainObject(input)) return whole(payload, ctx)
    const names = Object.keys(input)
    if (names.length > maximum) {
      const message = `Dictionary should have at most ${maximum} items after validation, not ${names.length}`
      const facts = { field_type: 'Dictionary', max_length: maximum, actual_length: names.length }
      const params: IssueParams = { type: 'too_long', ctx: facts }
      payload.issues.push({ code: 'custom', input, inst, message, params, continue: false })
      return payload
    }
    if (names.length <= MAX_ISSUES) return whole(payload, ctx)
    const output: Record<string, unknown> = {}
    for (let from = 0; from < names.length && payload.issues.length < MAX_ISSUES; from += MAX_ISSUES) {
      const some = Object.fromEntries(names.slice(from, from + MAX_ISSUES).map((name) => [name, input[name]]))
      const { value, issues } = whole({ value: some, issues: [] }, ctx)
      payload.issues.push(...issues.slice(0, MAX_ISSUES))
      Object.assign(output, value)
    }
    payload.value = output
    return payload
  }
})

/** A list of at most `max` members. A longer one is refused as `too_long` before a member is read. */
export function list<T extends z.ZodType>(
  element: T,
  { max = LIST_LIMITS.members }: { max?: number } = {},
): z.ZodArray<T> {
  return new BoundedList({ type: 'array', element, maximum: max }) as unknown as z.ZodArray<T>
}

/** A map of text to `value` with at most `max` members. A larger one is refused as `too_long` before a member is read. */
export function map<V extends z.ZodType, K extends z.core.$ZodRecordKey = z.ZodString>(
  value: V,
  { max = LIST_LIMITS.members, key }: { max?: number; key?: K } = {},
): z.ZodRecord<K, V> {
  const keyType = key ?? z.string()
  return new BoundedMap({
    type: 'record',
    keyType,
    valueType: value,
    maximum: max,
  } as MapDef) as unknown as z.ZodRecord<K, V>
}

/** The largest number of members of a list or map of this file; null for every other schema. */
export function limitOf(schema: z.core.$ZodType): number | null {
  const { traits, def } = schema._zod
  return traits.has('BoundedList') || traits.has('BoundedMap') ? (def as unknown as ListDef).maximum : null
}
