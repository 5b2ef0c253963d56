import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findJsonFault, JsonScanner, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-scan.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const faultOf = (text: string) => findJsonFault(bytesOf(text))

/** The fault that a scanner finds when it pauses after every `count` bytes. */
function faultInSteps(text: string, count: number) {
  const scanner = new JsonScanner(bytesOf(text))
  while (scanner.advance(count));
  return scanner.fault
}

/** True for JSON whose numbers are finite. */
const parses = (text: string): boolean => {
  try {
    let isFinite = true
    JSON.parse(text, (_, value: unknown) => void (isFinite &&= typeof value !== 'number' || Number.isFinite(value)))
    return isFinite
  } catch {
    return false
  }
}

/** JSON with blanks, and the same with one character more, less or other. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.constantFrom('', ' ', ',', '"', '\\', '[', ']', '{', '}', '0', '-', 'e', '\n', 'é'),
  )
  .map(([text, at, odd]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + odd + text.slice(place + (at % 2))
  })

test('the scanner accepts a text if and only if JSON.parse does', () => {
  fc.assert(
    fc.property(nearlyJson, (text) => {
      expect(faultOf(text) === null).toBe(parses(text))
    }),
    {
      numRuns: 2000,
    },
  )
})

test('the scanner finds the same fault in every number of steps', () => {
  fc.assert(
    fc.property(nearlyJson, fc.integer({ min: 1, max: 7 }), (text, count) => {
      expect(faultInSteps(text, count)).toEqual(faultOf(text))
    }),
  )
})

test('the scanner accepts every form of a value', () => {
  for (const text of [
    '{}',
    '[]',
    ' {"a":[1,-0.5e+3,"\\u00e9\\n",true,false,null,{"b":""}]} ',
    '"\ud83d\ude00"',
    '\ufeff1',
  ])
    expect(faultOf(text)).toBeNull()
})

describe('limits', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const wide = (count: number) => `[${'0,'.repeat(count - 2)}0]`

  test('a text may have 200 levels and no more', () => {
    expect(faultOf(nested(MAX_JSON_DEPTH))).toBeNull()
    expect(faultOf(nested(MAX_JSON_DEPTH + 1))).toEqual({ kind: 'too_deep' })
    expect(faultOf('{"a":'.repeat(1_000_000))).toEqual({ kind: 'too_deep' })
  })

  test('a text may have 100,000 values and no more, and the names of members are none', () => {
    expect(faultOf(wide(MAX_JSON_VALUES))).toBeNull()
    expect(faultOf(wide(MAX_JSON_VALUES + 1))).toEqual({ kind: 'too_many' })
    const members = Array.from({ length: MAX_JSON_VALUES - 1 }, (_, at) => `"${at}":0`).join(',')
    expect(faultOf(`{${members}}`)).toBeNull()
  })

  test('the scanner stops at the first value beyond the limit', () => {
    const scanner = new JsonScanner(bytesOf('[0,0,0,0'), { depth: 1, values: 3 })
    expect([scanner.advance(100), scanner.fault]).toEqual([false, { kind: 'too_many' }])
  })

  test.each(['1e400', '-1e400', `1${'0'.repeat(309)}`])('the number %s is refused as out of range', (number) => {
    expect(faultOf(`[${number}]`)).toEqual({ kind: 'syntax', offset: 1, reason: 'Number out of range' })
  })

  test.each(['1e-400', '1e308', `0.${'0'.repeat(400)}1`])('the number %s is accepted', (number) => {
    expect(faultOf(`[${number}]`)).toBeNull()
  })
})
