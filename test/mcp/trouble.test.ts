import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { until } from '../../packages/server/testing/until.ts'
import {
  EVERYTHING,
  freePort,
  isAlive,
  never,
  faultyServer,
  startListening,
  startToolboxes,
  startReachable,
  startsIn,
  stdio,
  TRANSPORTS,
} from '../../packages/server/testing/mcp/servers.ts'

describe.each(TRANSPORTS)('an MCP server over %s', (transport) => {
  test.each<[string, number, RegExp]>([
    ['nonsense', 1000, /in time|not ready/],
    ['silent', 1000, /not ready within 1 s/],
    ['exit', 15_000, transport === 'stdio' ? /ended.*the database is not there/ : /ended the connection/],
    ['bad-list', 15_000, /something else than the protocol says/],
    ['flood', 1000, /./],
  ])('an MCP server that is %s does not affect the others, and is reported once', async (way, connectMs, reason) => {
    await using server = await startReachable(transport, faultyServer(way))
    await using place = await startToolboxes({ connectMs })
    const box = await place.box({ broken: server.config })
    expect(box.names()).toEqual([])
    const [notice, ...more] = box.source.takeNotices()
    expect(notice).toMatchObject({ code: 'MCPServerUnavailable', detail: expect.stringMatching(reason) })
    expect(notice!.detail).toMatch(/^The MCP server 'broken' cannot be used: .* The conversation continues/)
    await box.source.prepare(never)
    expect([...more, ...box.source.takeNotices()]).toEqual([])
  })

  test('an MCP server killed between two calls is restarted, and a call interrupted by a kill is reported and not repeated', async () => {
    await using place = await startToolboxes()
    const journal = place.dir.file('journal')
    await using server = await startReachable(transport, faultyServer('fine', journal))
    const box = await place.box({ odd: server.config })
    const [first] = await startsIn(journal)
    process.kill(first!, 'SIGKILL')
    await until(() => !isAlive(first!))
    expect((await box.call('say_kind', { kind: 'again' })).isError).toBe(false)
    expect(await startsIn(journal)).toHaveLength(2)

    const dead = await box.call('die')
    expect(dead.isError).toBe(true)
    expect(dead.texts.join()).toMatch(
      /lost during the call; whether it took effect is not known, and it was not made again/,
    )
    expect((await readFile(journal, 'utf8')).match(/called die/g)).toHaveLength(1)
    expect((await box.call('say_kind', { kind: 'and again' })).isError).toBe(false)
    expect(await startsIn(journal)).toHaveLength(3)
  })

  test('many calls that lose their MCP program at once share the next one', async () => {
    await using place = await startToolboxes()
    const journal = place.dir.file('journal')
    await using server = await startReachable(transport, faultyServer('fine', journal))
    const box = await place.box({ odd: server.config })
    const [first] = await startsIn(journal)
    const waiting = Array.from({ length: 5 }, () => box.call('wait'))
    await until(async () => (await readFile(journal, 'utf8')).match(/called wait/g)?.length === 5)
    process.kill(first!, 'SIGKILL')
    // Each continues as soon as it has the failure.
    const again = waiting.map(async (call) => [await call, await box.call('say_kind', { kind: 'x' })] as const)
    for (const [lost, next] of await Promise.all(again)) expect([lost.isError, next.isError]).toEqual([true, false])
    const pids = await startsIn(journal)
    expect(pids).toHaveLength(2)
    await box.source[Symbol.asyncDispose]()
    await until(() => !pids.some(isAlive))
  })

  test('an MCP call that exceeds its time is an error, and the server stays usable', async () => {
    await using place = await startToolboxes()
    const journal = place.dir.file('journal')
    await using server = await startReachable(transport, faultyServer('fine', journal))
    const box = await place.box({ slow: { ...server.config, timeout: 1 } })
    const late = await box.call('wait')
    expect(late.isError).toBe(true)
    expect(late.texts.join()).toContain('did not answer in time')
    expect((await box.call('say_kind', { kind: 'still here' })).isError).toBe(false)
    expect(await startsIn(journal)).toHaveLength(1)
  })

  test('an interrupt ends the wait for an MCP call at once', async () => {
    await using place = await startToolboxes()
    const journal = place.dir.file('journal')
    await using server = await startReachable(transport, faultyServer('fine', journal))
    const box = await place.box({ odd: server.config })
    const controller = new AbortController()
    const waiting = box.call('wait', {}, controller.signal)
    await until(async () => (await readFile(journal, 'utf8')).includes('called wait'))
    controller.abort(new Error('interrupted'))
    await expect(waiting).rejects.toThrow('interrupted')
    expect((await box.call('say_kind', { kind: 'goes on' })).isError).toBe(false)
    expect(await startsIn(journal)).toHaveLength(1)
  })

  test('an invalid MCP response is an error observation', async () => {
    await using server = await startReachable(transport, faultyServer('bad-call'))
    await using place = await startToolboxes()
    const box = await place.box({ odd: server.config })
    const wrong = await box.call('say_kind', { kind: 'x' })
    expect(wrong.isError).toBe(true)
    expect(wrong.texts.join()).toContain('something else than the protocol says')
  })
})

test('MCP servers that cannot be started or reached are reported by name, and the working one is usable', async () => {
  await using place = await startToolboxes()
  const box = await place.box({
    good: faultyServer(),
    absent: { command: 'no-such-program-anywhere' },
    deaf: { url: `http://127.0.0.1:${await freePort()}/mcp` },
    socket: { url: 'wss://127.0.0.1:9/mcp' },
    login: { url: 'http://127.0.0.1:9/mcp', auth: { strategy: 'oauth2' } },
  })
  expect(box.names()).toContain('good_where')
  const details = Object.fromEntries(
    box.source.takeNotices().map(({ detail }) => [/'(\w+)'/.exec(detail)![1]!, detail]),
  )
  expect(Object.keys(details).toSorted()).toEqual(['absent', 'deaf', 'login', 'socket'])
  expect(details['deaf']).toContain('its address refused the connection')
  expect(details['socket']).toContain('use http or https')
  expect(details['login']).toContain('OAuth is not supported')
})

test.each(['sse', 'streamableHttp'] as const)(
  'over %s, a server that lost the session gets a new one, and a server that is gone is a clear error and may return',
  async (transport) => {
    await using servers = new AsyncDisposableStack()
    const first = servers.use(await startListening(transport))
    const { port } = first
    await using place = await startToolboxes()
    const box = await place.box({ there: { url: first.url } })
    await first[Symbol.asyncDispose]()
    const gone = await box.call('echo', { message: 'x' })
    expect(gone.isError).toBe(true)
    expect(gone.texts.join()).toMatch(/server 'there' did not execute 'echo'/)
    const second = servers.use(await startListening(transport, port))
    expect((await box.call('echo', { message: 'back' })).text).toBe('Echo: back')
    // The outage is not noticed this time.
    await second[Symbol.asyncDispose]()
    servers.use(await startListening(transport, port))
    expect((await box.call('echo', { message: 'again' })).text).toBe('Echo: again')
  },
)

test.each(['stdio', 'sse', 'streamableHttp'] as const)(
  'a slow real MCP server over %s stays usable',
  async (transport) => {
    await using servers = new AsyncDisposableStack()
    const reached =
      transport === 'stdio' ? stdio(EVERYTHING) : { url: servers.use(await startListening(transport)).url }
    await using place = await startToolboxes()
    const box = await place.box({ slow: { ...reached, timeout: 1 } })
    const late = await box.call('trigger-long-running-operation', { duration: 60, steps: 60 })
    expect(late.isError).toBe(true)
    expect(late.texts.join()).toContain('did not answer in time')
    expect((await box.call('echo', { message: 'still here' })).text).toBe('Echo: still here')
  },
)

test.each(['sse', 'streamableHttp'] as const)(
  'a real MCP server over %s that is killed during a call does not get the call again',
  async (transport) => {
    await using servers = new AsyncDisposableStack()
    const first = servers.use(await startListening(transport))
    await using place = await startToolboxes()
    const box = await place.box({ there: { url: first.url } })
    const before = first.received()
    const call = box.call('trigger-long-running-operation', { duration: 60, steps: 60 })
    await until(() => first.received() > before)
    await first[Symbol.asyncDispose]()
    const lost = await call
    expect(lost.isError).toBe(true)
    expect(lost.texts.join()).toMatch(/lost during the call; whether it took effect is not known/)
    servers.use(await startListening(transport, first.port))
    expect((await box.call('echo', { message: 'back' })).text).toBe('Echo: back')
  },
)

test('credentials of an MCP server are sent only to their own address', async () => {
  const seen: (string | undefined)[] = []
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`
  const asked: (string | undefined)[] = []
  const redirecting = createServer((request, response) => {
    asked.push(request.headers.authorization)
    response.writeHead(307, { location: `${there}${request.url}` }).end()
  }).listen(0, '127.0.0.1')
  await once(redirecting, 'listening')
  const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`
  try {
    await using place = await startToolboxes()
    const auth = { strategy: 'bearer', value: 'key-of-one-server' }
    const box = await place.box({ a: { url: `${url}/mcp`, auth }, b: { url: `${url}/sse`, auth } })
    expect(box.source.takeNotices()).toHaveLength(2)
    expect(asked).not.toEqual([])
    expect(new Set(asked)).toEqual(new Set(['Bearer key-of-one-server']))
    expect(seen).toEqual([])
  } finally {
    elsewhere.close()
    redirecting.close()
  }
})

test.each([401, 403, 500, 502])('an MCP address that responds with %i is reported with the status', async (status) => {
  const server = createServer((_request, response) => response.writeHead(status).end('go away')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    await using place = await startToolboxes()
    const box = await place.box({ a: { url: `${url}/mcp` }, b: { url: `${url}/sse` } })
    const details = box.source.takeNotices().map(({ detail }) => detail)
    expect(details).toHaveLength(2)
    for (const detail of details) expect(detail).toMatch(new RegExp(`status ${status}`))
  } finally {
    server.close()
  }
})
