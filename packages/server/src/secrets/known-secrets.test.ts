import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openKnownSecrets } from './known-secrets.ts'
import { makeCipher } from './cipher.ts'

const cipher = makeCipher(randomBytes(32), 'a test')

test('values that the cipher sealed or opened, and given ones, are hidden in any text', () => {
  const known = openKnownSecrets(['key-of-the-server', null])
  const watched = known.watch(cipher)
  const sealed = cipher.seal('opened-value')
  expect(known.hide({ message: 'opened-value' })).toEqual({ message: 'opened-value' })
  expect(watched.open(watched.seal('sealed-value'))).toBe('sealed-value')
  expect(watched.open(sealed)).toBe('opened-value')
  expect(watched.keyId).toBe(cipher.keyId)
  expect(known.hide({ message: 'a sealed-value b', deep: ['opened-value', 7], key: 'key-of-the-server' })).toEqual({
    message: 'a <secret-hidden> b',
    deep: ['<secret-hidden>', 7],
    key: '<secret-hidden>',
  })
})

test('longer texts than a secret and waiting messages are not kept as secrets', () => {
  const known = openKnownSecrets([])
  const watched = known.watch(cipher)
  const texts = ['[{"text":"hello there"}]', 'x'.repeat(16_385), 'y'.repeat(16_384)]
  for (const text of texts) watched.seal(text)
  expect(known.hide(texts)).toEqual([texts[0], texts[1], '<secret-hidden>'])
})

test('of stored secrets, the thousand most recently used ones are kept, and the keys of the server always', () => {
  const known = openKnownSecrets([])
  known.add(['key-of-the-server', null])
  const watched = known.watch(cipher)
  for (let n = 0; n < 1000; n++) watched.seal(`secret-value-${n}-`)
  watched.seal('secret-value-0-')
  watched.seal('secret-value-1000-')
  expect(known.hide(['key-of-the-server', 'secret-value-0-', 'secret-value-1-', 'secret-value-1000-'])).toEqual([
    '<secret-hidden>',
    '<secret-hidden>',
    'secret-value-1-',
    '<secret-hidden>',
  ])
})
