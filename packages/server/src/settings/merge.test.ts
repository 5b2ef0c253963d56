import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HIDDEN, type JsonObject } from '../secrets/index.ts'
import { merge, mergeGroup, prune } from './merge.ts'

const bearer = { strategy: 'bearer', value: 'tok' }

test.each<[string, JsonObject, JsonObject, JsonObject]>([
  ['an absent member stays', { a: 1, b: 2 }, { b: 3 }, { a: 1, b: 3 }],
  ['null removes', { a: 1, b: 2 }, { a: null }, { b: 2 }],
  ['null removes deep inside', { a: { b: { c: 1, d: 2 } } }, { a: { b: { c: null } } }, { a: { b: { d: 2 } } }],
  ['null removes what is not there', {}, { a: null }, {}],
  ['maps are merged', { a: { x: 1 } }, { a: { y: 2 } }, { a: { x: 1, y: 2 } }],
  ['a map replaces a scalar, without its nulls', { a: 1 }, { a: { x: 1, y: null } }, { a: { x: 1 } }],
  ['lists are replaced', { a: [1, 2, 3] }, { a: [4] }, { a: [4] }],
  ['a mask keeps', { api_key: 'k' }, { api_key: HIDDEN }, { api_key: 'k' }],
  ['a mask without anything behind it is nothing', {}, { api_key: HIDDEN, n: 1 }, { n: 1 }],
  [
    'a mask keeps deep inside',
    { s: { env: { A: 'a' } } },
    { s: { env: { A: HIDDEN, B: 'b' } } },
    { s: { env: { A: 'a', B: 'b' } } },
  ],
  [
    'a mask in a list keeps what stands at its place',
    { l: [{ n: 1, key: 'k' }] },
    { l: [{ key: HIDDEN }] },
    { l: [{ key: 'k' }] },
  ],
  [
    'deep in a list too, and nothing else of it',
    { l: [{ m: { a: 'a', b: 'b' } }] },
    { l: [{ m: { a: HIDDEN } }] },
    { l: [{ m: { a: 'a' } }] },
  ],
  [
    'a longer list has nothing behind its new masks',
    { l: [] },
    { l: [{ key: HIDDEN, n: null }] },
    { l: [{ n: null }] },
  ],
  [
    'another variant starts from nothing',
    { auth: bearer },
    { auth: { strategy: 'none' } },
    { auth: { strategy: 'none' } },
  ],
  [
    'a mask does not reach into another variant',
    { auth: bearer },
    { auth: { strategy: 'api_key', value: HIDDEN } },
    { auth: { strategy: 'api_key' } },
  ],
  [
    'the same variant is merged',
    { auth: bearer },
    { auth: { strategy: 'bearer', x: 1 } },
    { auth: { ...bearer, x: 1 } },
  ],
])('%s', (_, current, patch, expected) => {
  const before = structuredClone(current)
  expect(merge(current, patch)).toEqual(expected)
  expect(current).toEqual(before)
})

test('a null at the top of a settings group is kept for the schema', () => {
  expect(mergeGroup({ tools: [], a: { b: 1 } }, { tools: null, a: { b: null } })).toEqual({ tools: null, a: {} })
})

test('a settings member called __proto__ is an ordinary member', () => {
  const merged = merge({}, JSON.parse('{"__proto__":{"polluted":1}}') as JsonObject)
  expect(Object.keys(merged)).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

describe('laws', () => {
  const record = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.jsonValue({ maxDepth: 2 }),
  ) as fc.Arbitrary<JsonObject>
  test('merging the same change twice has the same result as once', () => {
    fc.assert(
      fc.property(record, record, (current, patch) => {
        const once = merge(current, patch)
        expect(merge(once, patch)).toEqual(once)
      }),
    )
  })
  test('merging changes of different members does not depend on their order', () => {
    fc.assert(
      fc.property(record, fc.jsonValue(), fc.jsonValue(), (current, x, y) => {
        const [one, two] = [{ x }, { y }] as JsonObject[]
        expect(merge(merge(current, one!), two!)).toEqual(merge(merge(current, two!), one!))
      }),
    )
  })
})

test('pruning keeps chosen and known members in the form of the schema', () => {
  const whole = { a: 5, b: { c: true, d: 'default' }, e: null }
  expect(prune({ a: '5', b: { c: 'yes', unknown: 1 }, e: 'x', f: 1 }, whole)).toEqual({ a: 5, b: { c: true }, e: null })
})
