import { expect, test } from 'vitest'
import { messageIn, readLines } from './lines.ts'

const stream = (...chunks: string[]) => new Blob(chunks).stream() as unknown as ReadableStream<Uint8Array>

test('lines are joined across chunks, and messages are distinguished from other text', async () => {
  const lines: string[] = []
  await readLines(stream('a\nb', 'c\n\nlast'), (line) => lines.push(line))
  expect(lines).toEqual(['a', 'bc', '', 'last'])
  expect(messageIn('{"jsonrpc":"2.0","id":1}')).toMatchObject({ id: 1 })
  for (const noise of ['', 'hello "jsonrpc"', '{', '{"jsonrpc": ', '{"other":1}']) expect(messageIn(noise)).toBeNull()
})

test('a line that is too long ends the reading', async () => {
  await expect(readLines(stream('x'.repeat(100)), () => undefined, 50)).rejects.toThrow('more than 50 bytes')
})
