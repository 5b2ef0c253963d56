import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeText, encodeText } from './text.ts'

const pieces = fc.constantFrom('\0', '\u{10FFFF}', '\u{10FFFE}', 'a', '0', 'ä', '😀', '\\0')
const texts = fc.array(pieces).map((parts) => parts.join(''))

test('every text is returned unchanged, and its stored form has no U+0000', () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(encodeText(text)).not.toContain('\0')
      expect(decodeText(encodeText(text))).toBe(text)
    }),
  )
})

test('a text contains another one exactly if its stored form does', () => {
  fc.assert(
    fc.property(texts, texts, (text, part) => {
      expect(encodeText(text).includes(encodeText(part))).toBe(text.includes(part))
    }),
    { numRuns: 2_000 },
  )
})
