import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { onUnansweredRequest } from './unanswered-requests.ts'

/** A transport whose streams end under control of the test. */
function watched() {
  const streams = new Map<unknown, () => void>()
  let reports = 0
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if ('id' in message && message.id === 'refused') return Promise.reject(new Error('refused'))
      if ('id' in message) streams.set(message.id, () => options?.onRequestStreamEnd?.())
      return Promise.resolve()
    },
  }
  onUnansweredRequest(transport, () => (reports += 1))
  return {
    ask: (id: string | number) => transport.send({ jsonrpc: '2.0', id, method: 'tools/call' }),
    cancel: (requestId: number) =>
      transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    answer: (id: number) => transport.onmessage?.({ jsonrpc: '2.0', id, result: {} }),
    end: (id: string | number) => streams.get(id)?.(),
    reports: () => reports,
  }
}

test('a stream that ends before its response is reported, once', async () => {
  const it = watched()
  await it.ask(1)
  await it.ask(2)
  it.answer(2)
  it.end(2)
  expect(it.reports()).toBe(0)
  it.end(1)
  it.end(1)
  expect(it.reports()).toBe(1)
})

test('a request that was cancelled, or never sent, is not reported', async () => {
  const it = watched()
  await it.ask(1)
  await it.cancel(1)
  it.end(1)
  await expect(it.ask('refused')).rejects.toThrow('refused')
  it.end('refused')
  expect(it.reports()).toBe(0)
})
