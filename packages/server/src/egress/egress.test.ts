import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createPort, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openEgress } from './egress.ts'
import { egressRefusalIn, EgressRefused } from './refusal.ts'

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const urls: string[] = []
  const server = createServer((request, response) => {
    urls.push(request.url ?? '')
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    urls,
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const thrown = async (request: Promise<Response>) =>
  request.then(
    (answer) => answer.text(),
    (error: unknown) => error,
  )

test.each(['127.0.0.1', 'localhost', '[::1]', '0x7f.1', '2130706433', '0', '[::ffff:127.0.0.1]', '0.0.0.0'])(
  'with public addresses only, no connection is made to this machine under the address %s',
  async (host) => {
    let connections = 0
    const server = createPort(() => (connections += 1)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    using egress = openEgress(['public'])
    const error = await thrown(egress.fetch({ member: 'base_url' })(`http://${host}:${port}/secret`))
    expect(error).toBeInstanceOf(EgressRefused)
    expect((error as Error).message).toMatch(/^base_url leads to .*loopback.*user_egress/)
    server.close()
    await once(server, 'close')
    expect(connections).toBe(0)
  },
)

test('addresses of the operator are allowed at and below their path only', async () => {
  await using server = await serve((_, response) => response.end('ok'))
  using egress = openEgress(['public'])
  const fetch = egress.fetch({ member: 'base_url', own: [`${server.url}/v1/`, null] })
  expect(await thrown(fetch(`${server.url}/v1/models`))).toBe('ok')
  expect(await thrown(fetch(`${server.url}/v1`))).toBe('ok')
  for (const path of ['/', '/v10', '/v1/../secret', '/v1/%2e%2e/secret'])
    expect(egressRefusalIn(await thrown(fetch(server.url + path)))?.addressClass).toBe('loopback')
  await using other = await serve((_, response) => response.end('secret'))
  expect(egressRefusalIn(await thrown(fetch(`${other.url}/v1/models`)))?.addressClass).toBe('loopback')
  expect(server.urls).toEqual(['/v1/models', '/v1'])
})

test('a redirect is an answer or a failure, and is never followed', async () => {
  await using server = await serve((_, response) => response.writeHead(302, { location: '/secret' }).end())
  using egress = openEgress(['any'])
  const fetch = egress.fetch({ member: 'url' })
  const answer = await fetch(server.url, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/secret'])
  expect(await thrown(fetch(server.url, { redirect: 'error' }))).toMatchObject({
    message: expect.stringContaining('redirect'),
  })
  expect(server.urls).toEqual(['/', '/'])
})

test('method, headers and bodies of text and bytes are sent, and an aborted request ends', async () => {
  await using server = await serve(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url === '/silent') return
    response
      .writeHead(201)
      .end(`${request.method} ${String(request.headers['x-a'])} ${Buffer.concat(chunks).toString()}`)
  })
  using egress = openEgress(['any'])
  const fetch = egress.fetch({ member: 'url' })
  const post = (init: RequestInit) => thrown(fetch(server.url, { method: 'POST', ...init }))
  expect(await post({ headers: { 'X-A': '1' }, body: 'text' })).toBe('POST 1 text')
  expect(await post({ headers: new Headers({ 'X-A': '2' }), body: Buffer.from('bytes') })).toBe('POST 2 bytes')
  expect(await post({ headers: [['X-A', '3']] })).toBe('POST 3 ')
  expect(await post({ body: new URLSearchParams('a=b') })).toBeInstanceOf(TypeError)
  expect(await thrown(fetch('file:///etc/passwd'))).toBeInstanceOf(TypeError)
  const away = new AbortController()
  const pending = thrown(fetch(`${server.url}/silent`, { signal: away.signal }))
  away.abort(new Error('called off'))
  expect(await pending).toMatchObject({ message: 'called off' })
})

test('a body that is cancelled before, while and after it arrives ends without an error', async () => {
  await using server = await serve((_, response) => response.writeHead(200).end('x'.repeat(100_000)))
  using egress = openEgress(['any'])
  const fetch = egress.fetch({ member: 'url' })
  for (let n = 0; n < 20; n++) {
    const answer = await fetch(server.url)
    if (n % 2 === 1) await new Promise((resolve) => setImmediate(resolve))
    await answer.body!.cancel()
  }
  expect(await thrown(fetch(server.url))).toHaveLength(100_000)
})

test('addresses in texts of strangers are public ones where users may name any', async () => {
  using egress = openEgress(['any'])
  const agents = egress.narrowed.agents({ member: 'image_url' }, {})
  const { request } = await import('node:http')
  const url = new URL('http://127.0.0.1:9/')
  const [error] = (await once(request(url, { agent: agents.for(url) }).end(), 'error').catch((each) => [each])) as [
    unknown,
  ]
  expect(egressRefusalIn(error)?.addressClass).toBe('loopback')
})
