import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readFrames, SseParser, type SseFrame } from './sse.ts'

const parseAll = (pieces: readonly string[]) => {
  const parser = new SseParser()
  return pieces.flatMap((piece) => parser.push(piece))
}

test.each<[string, SseFrame[]]>([
  ['data: a\n\n', [{ event: 'message', data: 'a', id: null }]],
  ['id: 7\nevent: event\ndata:a\ndata: b\n\n', [{ event: 'event', data: 'a\nb', id: '7' }]],
  [': still here\n\ndata: x\n\n', [{ event: 'message', data: 'x', id: null }]],
  ['data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c'].map((data) => ({ event: 'message', data, id: null }))],
  ['event: gone\n\ndata: a\n\n', [{ event: 'message', data: 'a', id: null }]],
  ['data\n\n', [{ event: 'message', data: '', id: null }]],
  ['data: never finished', []],
])('%j is read as %o', (text, frames) => {
  expect(parseAll([text])).toEqual(frames)
})

test('server-sent events are read alike wherever the text is split into chunks', () => {
  const line = fc.constantFrom('data: a', 'data:', 'event: e', 'id: 1', ': c', '', '', 'data: ä€')
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const stream = fc
    .array(fc.tuple(line, end))
    .map((lines) => `${lines.map((pair) => pair.join('')).join('')}data: z\n\n`)
  fc.assert(
    fc.property(stream, fc.array(fc.nat(40)), (text, cuts) => {
      const pieces: string[] = []
      let rest = text
      for (const cut of cuts) {
        pieces.push(rest.slice(0, cut))
        rest = rest.slice(cut)
      }
      expect(parseAll([...pieces, rest])).toEqual(parseAll([text]))
    }),
  )
})

test('characters split across chunks of bytes are read whole', async () => {
  const bytes = new TextEncoder().encode('data: a€b\n\n')
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
      controller.close()
    },
  })
  const frames: SseFrame[] = []
  for await (const frame of readFrames(body)) frames.push(frame)
  expect(frames).toEqual([{ event: 'message', data: 'a€b', id: null }])
})

test('the reader of server-sent events closes the connection when it stops early', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: a\n\n')),
    cancel: () => {
      isCancelled = true
    },
  })
  for await (const _frame of readFrames(body)) break
  expect(isCancelled).toBe(true)
})
