import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprint } from './fingerprint.ts'

const digestOf = (json: string): string => createHash('sha256').update(json).digest('base64url')

/** The same data with its members in another order. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]): [string, unknown] => [name, reordered(member)])
      .toReversed(),
  )
}

test('the fingerprint of a request is the digest of its JSON text with sorted members, which stored records have', () => {
  const body = { b: [1, { d: null, c: 'é"' }, []], a: {}, left_out: undefined, long: 'x'.repeat(200_000) }
  const text = `{"a":{},"b":[1,{"c":"é\\"","d":null},[]],"long":"${'x'.repeat(200_000)}"}`
  expect(fingerprint(body)).toBe(digestOf(text))
})

test('the order of the members of a request does not change its fingerprint', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.parse(JSON.stringify(value)) as unknown
      expect(fingerprint(reordered(json))).toBe(fingerprint(json))
    }),
  )
})

test('requests that differ in one text behind a long one have different fingerprints', () => {
  const body = (end: string) => ({ content: ['y'.repeat(70_000), 'short', end] })
  expect(fingerprint(body('a'))).not.toBe(fingerprint(body('b')))
})
