import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from './endpoints/endpoint.ts'
import * as protocol from './index.ts'
import { limitOf, list, LIST_LIMITS, map, MAX_ISSUES } from './lists.ts'
import { RecordedEvent } from './replay.ts'
import { V0Action, V0Observation } from './trajectory-v0.ts'

const issuesOf = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues ?? []

describe('a list', () => {
  test('a list that is too long is refused before a member is read', () => {
    let reads = 0
    const counted = z.string().refine(() => ++reads > 0)
    expect(issuesOf(list(counted, { max: 2 }), ['a', 'b', 'c'])).toMatchObject([
      { code: 'too_big', maximum: 2, origin: 'array', path: [] },
    ])
    expect(reads).toBe(0)
  })

  test('the reading of a list stops after 50 failures', () => {
    let reads = 0
    const failing = z.unknown().refine(() => ++reads < 0)
    const schema = z.object({ a: list(failing, { max: 100_000 }) })
    const issues = issuesOf(schema, { a: Array.from({ length: 100_000 }, () => 0) })
    expect([issues.length, reads]).toEqual([MAX_ISSUES, MAX_ISSUES])
    expect(issues.at(-1)?.path).toEqual(['a', MAX_ISSUES - 1])
  })

  test('a list of lists stops after about 50 failures, too', () => {
    const schema = list(list(z.string(), { max: 1000 }), { max: 1000 })
    const rows = Array.from({ length: 1000 }, () => Array.from({ length: 100 }, () => 0))
    expect(issuesOf(schema, rows).length).toBeLessThan(2 * MAX_ISSUES)
  })

  test('a list keeps the outputs of its members, and its further checks', () => {
    const schema = list(z.string().transform((text) => text.length))
      .min(1)
      .default([7])
    expect(schema.parse(['ab', ''])).toEqual([2, 0])
    expect(schema.parse(undefined)).toEqual([7])
    expect(issuesOf(schema, [])).toMatchObject([{ code: 'too_small' }])
    expect(issuesOf(schema, 'x')).toMatchObject([{ code: 'invalid_type', expected: 'array' }])
  })

  test('the largest length of a list is documented', () => {
    expect(z.toJSONSchema(list(z.string(), { max: 3 }))).toMatchObject({ type: 'array', maxItems: 3 })
  })
})

describe('a map', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]))

  test('a map with too many members is refused before a member is read', () => {
    let reads = 0
    const counted = z.number().refine(() => ++reads > 0)
    const [issue] = issuesOf(map(counted, { max: 2 }), many(3))
    expect(issue).toMatchObject({
      message: 'Dictionary should have at most 2 items after validation, not 3',
      params: { type: 'too_long', ctx: { field_type: 'Dictionary', max_length: 2, actual_length: 3 } },
    })
    expect(reads).toBe(0)
  })

  test('the reading of a map stops after about 50 failures', () => {
    let reads = 0
    const failing = z.unknown().refine(() => ++reads < 0)
    expect(issuesOf(map(failing, { max: 100_000 }), many(10_000)).length).toBe(MAX_ISSUES)
    expect(reads).toBeLessThan(2 * MAX_ISSUES)
  })

  test('a map keeps all its members, and the member __proto__ is no prototype', () => {
    expect(map(z.number()).parse(many(120))).toEqual(many(120))
    const read = map(z.number()).parse(JSON.parse(`{"__proto__": 1, ${JSON.stringify(many(60)).slice(1)}`))
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    expect(read).toEqual(many(60))
  })

  test('names of a map are checked', () => {
    const schema = map(z.number(), { key: z.string().regex(/^n/) })
    expect(issuesOf(schema, { ...many(60), x: 1 })).toMatchObject([{ code: 'invalid_key', path: ['x'] }])
  })
})

describe('every list of a request has a largest length', () => {
  const isRow = (value: unknown): value is Endpoint =>
    typeof value === 'object' && value !== null && 'operationId' in value && 'path' in value
  const rows = Object.values<unknown>(protocol).filter(isRow)

  /** Places of lists and maps without a limit, and of collections of other kinds. */
  function unlimited(schema: z.core.$ZodType, place: string, seen = new Set<unknown>()): string[] {
    if (seen.has(schema)) return []
    seen.add(schema)
    const def = schema._zod.def as z.core.$ZodTypeDef & Record<string, unknown>
    const below = (inner: unknown, name: string) => unlimited(inner as z.core.$ZodType, `${place}${name}`, seen)
    switch (def.type) {
      case 'array':
      case 'record':
        return [
          ...(limitOf(schema) === null ? [place] : []),
          ...below(def['element'] ?? def['valueType'], def.type === 'array' ? '[]' : '{}'),
        ]
      case 'set':
      case 'map':
        return [place]
      case 'object':
        return Object.entries(def['shape'] as object).flatMap(([name, inner]) => below(inner, `.${name}`))
      case 'tuple':
        return [
          ...(def['rest'] == null ? [] : [place]),
          ...(def['items'] as unknown[]).flatMap((item, at) => below(item, `[${at}]`)),
        ]
      case 'union':
        return (def['options'] as unknown[]).flatMap((option) => below(option, ''))
      case 'intersection':
        return [...below(def['left'], ''), ...below(def['right'], '')]
      case 'lazy':
        return below((def['getter'] as () => unknown)(), '')
      case 'pipe':
        return [...below(def['in'], ''), ...below(def['out'], '')]
      default:
        return def['innerType'] === undefined ? [] : below(def['innerType'], '')
    }
  }

  test.each(rows)('$method $path', ({ body, query }) => {
    const found = [
      ...(body === undefined ? [] : unlimited(body, 'body')),
      ...(query === undefined ? [] : unlimited(query, 'query')),
    ]
    expect(found).toEqual([])
  })

  test.each<[string, z.ZodType]>([
    ['an event', RecordedEvent],
    ['an action of the older format', V0Action],
    ['an observation of the older format', V0Observation],
  ])('an element of a recording: %s', (name, schema) => {
    expect(unlimited(schema, name)).toEqual([])
  })

  test('the search finds a list without a limit below other schemas', () => {
    const schema = z.object({
      a: z.union([z.string(), z.array(z.string()).nullable()]).default([]),
      b: list(z.record(z.string(), z.int())),
    })
    expect(unlimited(schema, 'body')).toEqual(['body.a', 'body.b[]'])
  })

  test('ids of one request are at most 100', () => {
    expect(limitOf(protocol.batchGetBashEvents.body)).toBe(LIST_LIMITS.ids)
    const ids = Array.from({ length: 101 }, () => '11111111-2222-4333-8444-555555555555')
    expect(protocol.getConversations.query.safeParse({ ids }).success).toBe(false)
    expect(protocol.getConversations.query.safeParse({ ids: ids.slice(1) }).success).toBe(true)
  })

  test('a message has at most 1,000 parts, and a start at most 1,000 secrets', () => {
    const content = Array.from({ length: 1001 }, () => ({ type: 'text', text: '' }))
    expect(issuesOf(protocol.sendMessage.body, { content })).toMatchObject([{ code: 'too_big', path: ['content'] }])
    const secrets = Object.fromEntries(content.map((_, at) => [`S${at}`, 'v']))
    expect(issuesOf(protocol.updateSecrets.body, { secrets })).toMatchObject([{ path: ['secrets'] }])
  })
})
