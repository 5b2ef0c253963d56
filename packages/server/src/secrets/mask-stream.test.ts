import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeMasker } from './mask.ts'
import { MASK } from './mask-text.ts'

const through = (values: readonly string[], pieces: readonly string[]): string => {
  const stream = makeMasker(values).stream()
  return pieces.map((piece) => stream.write(piece)).join('') + stream.end()
}

test('a mask stream hides a secret that is split over pieces at any position', () => {
  const text = 'before s3cret-value after'
  for (let at = 0; at <= text.length; at++) {
    expect(through(['s3cret-value'], [text.slice(0, at), text.slice(at)])).toBe(`before ${MASK} after`)
    expect(through(['s3cret-value'], text.slice(0, at).split(''))).not.toContain('s3cret-value')
  }
})

test('a mask stream passes ordinary text at once and holds back a possible beginning of a secret', () => {
  const stream = makeMasker(['s3cret-value']).stream()
  expect(stream.write('nothing to hide')).toBe('nothing to hide')
  expect(stream.write(', s3c')).toBe(', ')
  expect(stream.write('ond thing')).toBe('s3cond thing')
  expect(stream.write('s3cret-val')).toBe('')
  expect(stream.end()).toBe('s3cret-val')
  expect(stream.write('fresh')).toBe('fresh')
})

test('a mask stream shows a complete secret as a mask at once when no longer secret begins with it', () => {
  const stream = makeMasker(['s3cret-value']).stream()
  expect(stream.write('x s3cret-value')).toBe(`x ${MASK}`)
})

test('a mask that is split over pieces stays as it is, also when a secret is a part of it', () => {
  for (let at = 0; at <= MASK.length; at++) expect(through(['-hidden'], [MASK.slice(0, at), MASK.slice(at)])).toBe(MASK)
  expect(through(['-hidden'], MASK.split(''))).toBe(MASK)
})

test('a mask stream waits for a longer secret when a shorter one is complete', () => {
  const stream = makeMasker(['abcd', 'abcdefgh']).stream()
  expect(stream.write('x abcd')).toBe('x ')
  expect(stream.write('efgh y')).toBe(`${MASK} y`)
  expect(stream.write('abcd!')).toBe(`${MASK}!`)
})

test('a mask stream waits for a longer secret that contains a complete shorter one', () => {
  const stream = makeMasker(['abcd', 'xabcdy']).stream()
  expect(stream.write('xabcd')).toBe('')
  expect(stream.write('y')).toBe(MASK)
})

test('a mask stream hides a complete secret whose end may begin another one', () => {
  const stream = makeMasker(['abcdef', 'defxyz']).stream()
  expect(stream.write('abcdef')).toBe(MASK)
})

test('a complete secret that a mask stream holds back is masked when the text ends', () => {
  const stream = makeMasker(['abcd', 'abcdefgh']).stream()
  expect(stream.write('x abcd')).toBe('x ')
  expect(stream.end()).toBe(MASK)
})

test('a mask stream without secrets passes everything', () => {
  expect(through([], ['a', 'b'])).toBe('ab')
})

// A small alphabet with parts of the mask itself, so that values overlap each other and the ends of pieces.
const value = fc.string({ unit: fc.constantFrom('a', 'b', 'secret', '-hidden'), maxLength: 8 })
const piece = fc.string({ unit: fc.constantFrom('a', 'b', 'secret', '-hidden', '<', '>', MASK), maxLength: 8 })

test('the output of a mask stream equals the masked whole text', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), fc.array(piece), (values, pieces) => {
      expect(through(values, pieces)).toBe(makeMasker(values).text(pieces.join('')))
    }),
    { numRuns: 2_000 },
  )
})
