import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeMasker, mask } from './mask.ts'
import { MASK } from './mask-text.ts'

test('the longest secret is masked where several match', () => {
  expect(mask('key=abcdefgh', ['abcd', 'abcdefgh'])).toBe(`key=${MASK}`)
})

test.each(['', 'abc', 'true', 'ROOT', '    '])('%j is too short or too common to be masked', (value) => {
  expect(mask(`x ${value} y`, [value])).toBe(`x ${value} y`)
  expect(mask(`x ${value}`, [value])).toBe(`x ${value}`)
})

test.each([
  ['escaped for JSON', JSON.stringify('pa"ss\nword')],
  ['percent-encoded', encodeURIComponent('pa"ss\nword')],
  ['in base64', Buffer.from('pa"ss\nword').toString('base64')],
  ['as it is', 'pa"ss\nword'],
  ['with the line ends of a terminal', 'pa"ss\r\nword'],
])('a secret value is found %s', (_, text) => {
  expect(mask(`<${text}>`, ['pa"ss\nword'])).toContain(MASK)
})

test('a secret value with the line ends of another system is found with those of a file', () => {
  expect(mask('<one\ntwo>', ['one\r\ntwo\r\n'])).toBe(`<${MASK}>`)
})

test('a secret value is found in base64 and in base64url, with its padding or without', () => {
  const value = 'a>?>?>?>c'.padEnd(10, '~')
  const [base64, base64url] = [Buffer.from(value).toString('base64'), Buffer.from(value).toString('base64url')]
  expect(base64).toMatch(/[+/].*=$/)
  expect(base64url).toMatch(/[-_]/)
  for (const text of [base64, base64url, base64.replace(/=+$/, '')]) {
    expect(mask(text, [value])).toMatch(new RegExp(`^${MASK}=*$`))
  }
})

test('masking keeps every member of an object that holds a secret, also one named __proto__', () => {
  const value = JSON.parse('{"__proto__":"s3cret","other":"kept"}') as object
  expect(JSON.stringify(makeMasker(['s3cret']).json(value))).toBe(`{"__proto__":"${MASK}","other":"kept"}`)
})

test('a value with half a character is found by its whole characters', () => {
  expect(mask('<s3cret\ud800>', ['s3cret\ud800'])).toBe(`<${MASK}>`)
})

test('texts inside arrays and objects are masked, names of members are not', () => {
  const value = { s3cret: ['a s3cret b', { deep: 's3cret' }, 7, null], other: true }
  expect(makeMasker(['s3cret']).json(value)).toEqual({ s3cret: [`a ${MASK} b`, { deep: MASK }, 7, null], other: true })
})

test('masking returns a value without a secret itself, not a copy', () => {
  const value = { a: ['b', { c: 'd' }] }
  expect(makeMasker(['s3cret']).json(value)).toBe(value)
})

test.each([
  ['as it is', (value: string) => value],
  ['percent-encoded', encodeURIComponent],
  ['in base64', (value: string) => Buffer.from(value).toString('base64')],
])('a value of 100 kB is masked %s, in whole texts and in streams', (_, form) => {
  const value = '{"a":1}'.repeat(15_000)
  const masker = makeMasker([value, 's3cret'])
  const text = `s3cret ${form(value)} rest`
  expect(masker.text(text).replaceAll('=', '')).toBe(`${MASK} ${MASK} rest`)
  const stream = masker.stream()
  const half = text.length >>> 1
  expect((stream.write(text.slice(0, half)) + stream.write(text.slice(half)) + stream.end()).replaceAll('=', '')).toBe(
    `${MASK} ${MASK} rest`,
  )
})

test('masking takes special characters of patterns literally', () => {
  expect(mask('a.c+d* abcdd', ['a.c+d*'])).toBe(`${MASK} abcdd`)
})

// A small alphabet with parts of the mask itself, so that values overlap each other and the mask.
const piece = fc.string({ unit: fc.constantFrom('a', 'b', '<', 'secret', '-hidden', '>'), maxLength: 12 })

test('masking is idempotent for any values', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), fc.array(piece), (values, parts) => {
      const masker = makeMasker(values)
      const once = masker.text(parts.join(''))
      expect(masker.text(once)).toBe(once)
    }),
    { numRuns: 500 },
  )
})

test('no secret value remains outside masks', () => {
  const value = fc.string({ unit: fc.constantFrom('x', 'y', 'z', '$'), minLength: 4, maxLength: 8 })
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 5 }),
      fc.array(fc.oneof(value, fc.string())),
      (values, parts) => {
        const masker = makeMasker([...values, ...parts.slice(0, 2)])
        const rest = masker.text([...parts, ...values].join('')).split(MASK)
        for (const secret of values) expect(rest.some((text) => text.includes(secret))).toBe(false)
      },
    ),
  )
})

const TOKEN = 'tok-5f1e77ab+/é-90c2d4'

test.each(['', 'x', 'xy', 'oauth2:', 'git:', 'user:12'])(
  'a value is masked in base64 and hex behind %j, whatever follows it',
  (before) => {
    for (const after of ['', 'a', 'ab', 'abc', '\n']) {
      const bytes = Buffer.from(`${before}${TOKEN}${after}`)
      for (const text of [
        bytes.toString('base64'),
        bytes.toString('base64url'),
        bytes.toString('hex'),
        bytes.toString('hex').toUpperCase(),
      ]) {
        const shown = mask(`Authorization: Basic ${text} end`, [TOKEN])
        expect(shown).toContain('<secret-hidden>')
        // At most the characters beside the value are left, which hold parts of other bytes.
        const rest = shown.replace('Authorization: Basic ', '').replace('<secret-hidden>', '').replace(' end', '')
        expect(rest.length).toBeLessThanOrEqual(Math.ceil(((before.length + after.length) * 8) / 4) + 4)
      }
    }
  },
)

test('each long line of a value with several lines is masked, except the frame of a key', () => {
  const body = ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', 'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj', 'short']
  const key = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----'].join('\n')
  const quoted = key.replaceAll(/^/gm, '> ')
  expect(mask(quoted, [key])).toBe(
    [
      '> -----BEGIN PRIVATE KEY-----',
      '> <secret-hidden>',
      '> <secret-hidden>',
      '> short',
      '> -----END PRIVATE KEY-----',
    ].join('\n'),
  )
})

test('an encoded value that arrives in pieces is masked at every border', () => {
  const text = `a ${Buffer.from(`oauth2:${TOKEN}`).toString('base64')} b`
  const whole = mask(text, [TOKEN])
  for (let at = 1; at < text.length; at++) {
    const stream = makeMasker([TOKEN]).stream()
    expect(stream.write(text.slice(0, at)) + stream.write(text.slice(at)) + stream.end()).toBe(whole)
  }
})
