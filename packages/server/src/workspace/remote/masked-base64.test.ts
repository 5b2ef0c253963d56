import { expect, test } from 'vitest'
import { makeMasker } from '../../secrets/index.ts'
import { fromMaskedBase64 } from './masked-base64.ts'

const KEY = 'a-key-of-the-other-server'

test('the bytes before and after a masked key are decoded, at every alignment', () => {
  for (const before of ['', 'a', 'ab', 'abc', 'abcd'])
    for (const after of ['', 'x', 'xy', 'xyz', 'xyz '.repeat(50)]) {
      const encoded = makeMasker([KEY]).text(Buffer.from(`${before}${KEY}${after}`).toString('base64'))
      expect(encoded).not.toContain(Buffer.from(KEY.slice(3, -3)).toString('base64').slice(4, -4))
      expect([before, after, fromMaskedBase64(encoded).toString()]).toEqual([
        before,
        after,
        `${before}<secret-hidden>${after}`,
      ])
    }
})

test('a text without masks is decoded as it is, and what is between two masks is left out', () => {
  expect(fromMaskedBase64(Buffer.from('plain').toString('base64')).toString()).toBe('plain')
  const two = makeMasker([KEY]).text(Buffer.from(`a ${KEY} b ${KEY} c`).toString('base64'))
  expect(fromMaskedBase64(two).toString()).toBe('a <secret-hidden> c')
})
