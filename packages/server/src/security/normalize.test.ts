import fc from 'fast-check'
import { expect, test } from 'vitest'
import { normalize, normalizeLines } from './normalize.ts'

/** One character of each class that normalisation removes. */
const HIDDEN = [
  0, 7, 0x1b, 0x7f, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x180b, 0x180e, 0x180f, 0x2009, 0x200a, 0x200b,
]
  .concat([
    0x200f, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x2069, 0x206a, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff,
  ])
  .concat([0xffa0, 0xfff9, 0xfffc, 0xe0000, 0xe007f, 0xe0100, 0xe01ef])
  .map((code) => String.fromCodePoint(code))

const unit = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
  fc.constantFrom(
    ...HIDDEN,
    '\ud800',
    '\udc00',
    '\udb40',
    '\u0301',
    'e',
    'ﬀ',
    '\u2028',
    '\r\n',
    '　',
    'ｒ',
    '\u{1d42b}',
  ),
)
const anyText = fc.array(unit, { maxLength: 40 }).map((units) => units.join(''))

test('normalisation is idempotent, total and removes all hidden characters (P34)', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const rule of [normalize, normalizeLines]) {
        const once = rule(text)
        expect(rule(once)).toBe(once)
        for (const character of HIDDEN) expect(once.includes(character)).toBe(false)
      }
      expect(normalize(text)).not.toMatch(/\s\s|[^\S ]/)
    }),
    { numRuns: 3000 },
  )
})

test.each<[string, string]>([
  ['ｒｍ　-ｒｆ', 'rm -rf'],
  ['\u{1d42b}\u{1d426}', 'rm'],
  ['r\u200bm\u2060', 'rm'],
  ['a\u2028b\u2029c', 'a b c'],
  ['a \t\n b', 'a b'],
  ['a\u00a0b', 'a b'],
  ['a\u2009b', 'ab'],
  ['\ud800\u200b\udc00', '\u{10000}'],
  ['lone \ud800 surrogate', 'lone \ud800 surrogate'],
  ['Кириллица stays', 'Кириллица stays'],
])('normalisation changes %j to %j', (text, expected) => {
  expect(normalize(text)).toBe(expected)
})

test('normalisation for parsers keeps line ends', () => {
  expect(normalizeLines('a\r\nb\rc\u2028d\ne  f')).toBe('a\nb\nc\nd\ne  f')
})
