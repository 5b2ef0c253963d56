import { expect, test } from 'vitest'
import { makeScanner, scan, type CanaryFound } from '../../packages/server/testing/canaries/scan.ts'
import { canary, CANARY_NAMES } from '../../packages/server/testing/canaries/values.ts'

test('there are 20 canaries, all different', () => {
  expect(CANARY_NAMES.length).toBe(20)
  expect(new Set(CANARY_NAMES.map(canary)).size).toBe(20)
})

const encodings: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  'escaped for JSON': (text) => JSON.stringify(text),
  'percent-encoded': (text) => encodeURIComponent(text),
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'in base64 behind one byte': (text) => Buffer.from(`:${text}:`).toString('base64'),
  'in base64 behind two bytes': (text) => Buffer.from(`u:${text}`).toString('base64url'),
  'in hexadecimal digits': (text) => Buffer.from(text).toString('hex'),
}

test.each(Object.entries(encodings))('every canary is found %s, in texts and in bytes', (how, encoded) => {
  for (const name of CANARY_NAMES) {
    // This canary is base64 itself; another encoding of it is not searched.
    if (name === 'webhook_secret' && /base64|hexa/.test(how)) continue
    const text = `before ${encoded(canary(name))} after`
    expect([name, scan(text).length]).toEqual([name, 1])
    expect([name, scan(Buffer.from(text)).length]).toEqual([name, 1])
  }
})

test('a canary is found wherever a stream was cut, and reported once', () => {
  for (const encoded of Object.values(encodings)) {
    const text = `before ${encoded(canary('user_secret_2'))} after, and much more that is of no interest to anybody`
    for (let at = 1; at < text.length; at++) {
      const found: CanaryFound[] = []
      const look = makeScanner((some) => found.push(...some))
      look(text.slice(0, at))
      look(Buffer.from(text.slice(at)))
      look('the rest')
      expect(found.length).toBe(1)
    }
  }
})

test('ordinary text contains no canary', () => {
  expect(scan('the canary in the coal mine, Q2FuYXJ5, 43616e617279')).toEqual([])
})
