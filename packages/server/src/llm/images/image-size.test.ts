import { expect, test } from 'vitest'
import { imageSize } from './image-size.ts'
import { toPrompt } from '../prompt/prompt.ts'

const url = (type: string, bytes: Buffer) => `data:image/${type};base64,${bytes.toString('base64')}`

const png = (width: number, height: number) => {
  const bytes = Buffer.alloc(24)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return url('png', bytes)
}
const gif = (width: number, height: number) => {
  const bytes = Buffer.alloc(13)
  bytes.write('GIF89a', 'latin1')
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  return url('gif', bytes)
}
const jpeg = (width: number, height: number) => {
  const bytes = Buffer.alloc(40)
  // A comment of ten bytes, then the frame.
  Buffer.from('ffd8fffe000a', 'hex').copy(bytes)
  Buffer.from('ffc00011 08'.replaceAll(' ', ''), 'hex').copy(bytes, 14)
  bytes.writeUInt16BE(height, 19)
  bytes.writeUInt16BE(width, 21)
  return url('jpeg', bytes)
}
const webp = (width: number, height: number) => {
  const bytes = Buffer.alloc(30)
  bytes.write('RIFF....WEBPVP8X', 'latin1')
  bytes.writeUIntLE(width - 1, 24, 3)
  bytes.writeUIntLE(height - 1, 27, 3)
  return url('webp', bytes)
}

test.each([png, gif, jpeg, webp])('the size of an image is read from its first bytes', (make) => {
  expect(imageSize({ type: 'image', url: make(640, 480) })).toEqual({ width: 640, height: 480 })
})

test.each([
  'https://example.com/a.png',
  'data:image/png;base64,',
  'data:image/png;base64,iVBORw0KGgo=',
  'data:text/plain,x',
  url('jpeg', Buffer.from('ffd8ffe0ffff', 'hex')),
])('the size of %s is unknown', (address) => {
  expect(imageSize({ type: 'image', url: address })).toBeNull()
})

test('an image that is too large for the model is replaced by a note; the rest of the message stays', () => {
  const options = {
    api: 'anthropic',
    cacheTtl: null,
    origin: { api: 'anthropic', host: 'x', account: '', model: 'claude' },
    echoReasoning: false,
    needsReasoning: false,
    needsSignature: false,
    freeform: new Map(),
    vision: true,
    maxPixels: 8000,
  } as const
  const image = (width: number) => ({ type: 'image' as const, url: png(width, 10) })
  const [user, , tool] = toPrompt(
    [
      { role: 'user', content: [{ type: 'text', text: 'Look.' }, image(8000), image(8001)] },
      { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 'view', arguments: '{}' }] },
      {
        role: 'tool',
        toolCallId: 'c',
        toolName: 'view',
        content: [{ type: 'text', text: 'seen' }, image(9000)],
        isError: false,
      },
    ],
    options,
  ) as { content: any[] }[]
  expect(user!.content.map(({ type }) => type)).toEqual(['text', 'file', 'text'])
  expect(user!.content[2].text).toMatch(/8001 × 10 pixels was left out; up to 8000/)
  expect(tool!.content[0].output).toEqual({ type: 'text', value: expect.stringMatching(/^seen\n\[An image of 9000/) })
})
