import type { Duplex } from 'node:stream'
import { expect, test } from 'vitest'
import * as ws from 'ws'
import { textFrame } from './text-frame.ts'

const { Receiver } = ws as unknown as { Receiver: new (options: { isServer: boolean }) => Duplex }

const received = (bytes: Buffer) => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const receiver = new Receiver({ isServer: false })
  receiver.on('message', (data: Buffer, isBinary: boolean) =>
    isBinary ? reject(new Error('binary')) : resolve(data.toString()),
  )
  receiver.on('error', reject)
  receiver.write(bytes)
  return promise
}

test.each([0, 1, 125, 126, 127, 65_535, 65_536, 300_000])(
  'an encoded text frame of %i bytes is decoded completely',
  async (length) => {
    const text = 'x'.repeat(length)
    expect(await received(textFrame(text))).toBe(text)
  },
)

test('the length of a text frame counts bytes, not characters', async () => {
  const text = 'ü😀'.repeat(40)
  expect(await received(textFrame(text))).toBe(text)
})
