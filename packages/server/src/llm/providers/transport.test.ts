import { openTestTransport } from '../../../testing/requests.ts'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, test } from 'vitest'

async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ server: Server; url: string; sockets: Socket[] } & AsyncDisposable> {
  const server = createServer(handler)
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    server,
    sockets,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('a response has status, headers and body', async () => {
  using transport = openTestTransport()
  await using echo = await serve((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response
        .writeHead(201, { 'x-kind': String(request.headers['x-kind']) })
        .end(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`)
    })
  })
  const answer = await transport.fetch(null)(`${echo.url}/a?b=c`, {
    method: 'POST',
    headers: { 'x-kind': 'test' },
    body: 'grüße',
  })
  expect([answer.status, answer.headers.get('x-kind'), await answer.text()]).toEqual([201, 'test', 'POST /a?b=c grüße'])
})

test('a kept connection that the server closed is replaced without an error', async () => {
  using transport = openTestTransport()
  let requests = 0
  await using server = await serve((request, response) => {
    requests += 1
    // The second request uses a socket that closes when it is written to.
    if (requests === 2) request.socket.destroy()
    else request.resume().on('end', () => response.end('ok'))
  })
  const fetch = transport.fetch(null)
  await (await fetch(server.url, { method: 'POST', body: 'one' })).text()
  const second = await fetch(server.url, { method: 'POST', body: 'two' })
  expect(await second.text()).toBe('ok')
  expect([requests, server.sockets.length]).toEqual([3, 2])
})

test('a new connection that breaks is an error and is not retried', async () => {
  using transport = openTestTransport()
  let requests = 0
  await using server = await serve((request) => {
    requests += 1
    request.socket.destroy()
  })
  await expect(transport.fetch(null)(server.url, { method: 'POST', body: 'one' })).rejects.toMatchObject({
    code: 'ECONNRESET',
  })
  expect(requests).toBe(1)
})

test('a slow answer does not time out while bytes arrive', async () => {
  using transport = openTestTransport()
  await using slow = await serve((_request, response) => {
    let left = 12
    const timer = setInterval(() => {
      left -= 1
      if (left > 0) return void response.write('.')
      clearInterval(timer)
      response.end('!')
    }, 100)
  })
  // The whole answer takes longer than the limit, and each pause is far below it, also on a busy machine.
  const answer = await transport.fetch(1000)(slow.url, { method: 'POST', body: '' })
  expect(await answer.text()).toBe('...........!')
})

test('a slow reader pauses the sender', async () => {
  using transport = openTestTransport()
  let sent = 0
  await using flood = await serve((_request, response) => {
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
      response.once('drain', write)
    }
    write()
  })
  const answer = await transport.fetch(null)(flood.url, { method: 'POST', body: '' })
  const before = await settled(() => sent)
  expect(before).toBeLessThan(64 * 1024 * 1024)
  await answer.body?.cancel()
})

/** Waits until the value stops changing and returns it. */
async function settled(value: () => number): Promise<number> {
  for (let last = -1; ;) {
    if (last === value()) return last
    last = value()
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
}
