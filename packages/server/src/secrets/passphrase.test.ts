import fc from 'fast-check'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isRandomText, makeSalt, stretched } from './passphrase.ts'

test('texts of 32 random bytes are used as they are', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 48 }), (seed) => {
      // Random bytes of the generator are not evenly distributed, so the system makes them.
      const bytes = randomBytes(seed.length)
      const texts = [bytes.toString('hex'), bytes.toString('hex').toUpperCase()]
      expect(texts.map(isRandomText)).toEqual([true, true])
    }),
    { numRuns: 50 },
  )
  const known = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'
  expect([known, `${known}=`, known.replace('q', '+').replace('8', '/')].map(isRandomText)).toEqual([true, true, true])
})

test.each([
  'secret',
  'correct horse battery staple',
  'a'.repeat(64),
  '0123456789abcdef'.slice(0, 5).repeat(13),
  'correcthorsebatterystaplecorrecthorsebatterystaple',
  'Canary7Qx02-0123456789abcdef',
  `${'Aa1'.repeat(20)}`,
  randomBytes(24).toString('hex'),
  randomBytes(24).toString('base64url'),
])('the text %j is stretched', (text) => {
  expect(isRandomText(text)).toBe(false)
})

test('a stretched text depends on text and salt', async () => {
  const [one, same, other, salted] = await Promise.all(
    [
      ['text', 'salt'],
      ['text', 'salt'],
      ['texts', 'alt'],
      ['text', makeSalt()],
    ].map(([text, salt]) => stretched(text!, salt!)),
  )
  expect(one!.length).toBe(32)
  expect(one).toEqual(same)
  expect(one).not.toEqual(other)
  expect(one).not.toEqual(salted)
})
