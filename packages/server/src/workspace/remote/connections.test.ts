import { testEgress } from '../../../testing/requests.ts'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openConnections, ReadTimeout } from './connections.ts'

async function listen(handle: RequestListener) {
  const server = createServer(handle)
  let open = 0
  let most = 0
  server.on('connection', (socket) => {
    most = Math.max(most, ++open)
    socket.once('close', () => (open -= 1))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    most: () => most,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('a request fails after the read timeout before or within an answer, and not while bytes keep arriving', async () => {
  await using server = await listen(async ({ url }, response) => {
    if (url === '/never') return
    response.write('a')
    for (let n = 0; url === '/slow' && n < 8; n++) {
      await delay(50)
      response.write('b')
    }
    if (url !== '/half') response.end()
  })
  using connections = openConnections({ egress: testEgress, readTimeoutMs: 250, maxConnections: null })
  await expect(connections.fetch(`${server.url}/never`)).rejects.toBeInstanceOf(ReadTimeout)
  const half = await connections.fetch(`${server.url}/half`)
  await expect(half.text()).rejects.toBeInstanceOf(ReadTimeout)
  expect(await (await connections.fetch(`${server.url}/slow`)).text()).toBe('abbbbbbbb')
})

test('no more connections than max_connections are open, and further requests wait', async () => {
  await using server = await listen(async (incoming, response) => {
    incoming.resume()
    await delay(20)
    response.end(JSON.stringify({ length: incoming.headers['content-length'] ?? null }))
  })
  using connections = openConnections({ egress: testEgress, readTimeoutMs: 5_000, maxConnections: 2 })
  const asked = Array.from({ length: 9 }, async () => {
    const response = await connections.fetch(server.url, { method: 'POST', body: 'öl', headers: {} })
    return response.json()
  })
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 9 }, () => ({ length: '3' })))
  expect(server.most()).toBe(2)
})

test('aborting a request rejects with the reason, while it waits and while it reads', async () => {
  await using server = await listen((_, response) => response.write('a'))
  using connections = openConnections({ egress: testEgress, readTimeoutMs: 5_000, maxConnections: 1 })
  const reading = new AbortController()
  const response = await connections.fetch(server.url, { signal: reading.signal })
  const waiting = new AbortController()
  const second = connections.fetch(server.url, { signal: waiting.signal })
  waiting.abort(new Error('not any more'))
  await expect(second).rejects.toThrow('not any more')
  reading.abort(new Error('enough'))
  await expect(response.text()).rejects.toThrow('enough')
})
