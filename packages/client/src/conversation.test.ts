import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newConversationId, type Frame } from '@parley/protocol'
import { expect, test } from 'vitest'
import { ParleyClient } from './client.ts'

/** A server with an event log, whose connections break after a few frames and then repeat the last frame. */
async function shakyLog(length: number, framesPerConnection: number) {
  const connections: { after: string | null; key: string | undefined }[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://x')
    const after = url.searchParams.get('after_seq')
    connections.push({ after, key: request.headers['x-session-api-key'] as string | undefined })
    // Every third connection meets a server that is shutting down.
    if (connections.length % 3 === 0) {
      response.writeHead(503).end()
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    write(response, { type: 'snapshot', seq: 0, state: { execution_status: 'running' } })
    const from = Math.max(1, Number(after))
    for (let seq = from; seq <= length && seq < from + framesPerConnection; seq++) {
      write(response, { type: 'event', seq, event: { kind: 'PauseEvent', id: `e${seq}` } } as unknown as Frame, seq)
      write(response, { type: 'delta', content: `d${seq}` })
    }
    if (from + framesPerConnection > length) write(response, { type: 'refused', reason: 'deleted' })
    response.write(': bye\n\n', () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    connections,
    conversation: new ParleyClient({ baseUrl, apiKey: 'k', backOff: { firstMs: 1, maxMs: 2 } }).conversation(
      newConversationId(),
    ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function write(response: ServerResponse, frame: Frame, id?: number): void {
  response.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`)
}

test('events of a conversation arrive once each and in order over many broken connections, and end with the conversation', async () => {
  await using log = await shakyLog(50, 4)
  const seqs: number[] = []
  for await (const { seq, event } of log.conversation.events()) {
    seqs.push(seq)
    expect(event.id).toBe(`e${seq}`)
  }
  expect(seqs).toEqual(Array.from({ length: 50 }, (_, n) => n + 1))
  expect(log.connections.length).toBeGreaterThan(15)
  expect(new Set(log.connections.map(({ key }) => key))).toEqual(new Set(['k']))
})

test('events of a conversation begin after the given seq', async () => {
  await using log = await shakyLog(10, 20)
  const seqs: number[] = []
  for await (const { seq } of log.conversation.events({ after: 7 })) seqs.push(seq)
  expect(seqs).toEqual([8, 9, 10])
})

test('watch yields snapshots, events, deltas and the final frame', async () => {
  await using log = await shakyLog(2, 20)
  const types: string[] = []
  for await (const frame of log.conversation.watch()) types.push(frame.type)
  expect(types).toEqual(['snapshot', 'event', 'delta', 'event', 'delta', 'refused'])
})

test('deltas yields the text of delta frames only', async () => {
  await using log = await shakyLog(2, 20)
  const deltas: unknown[] = []
  for await (const delta of log.conversation.deltas()) deltas.push(delta)
  expect(deltas).toEqual([{ content: 'd1' }, { content: 'd2' }])
})
