/** The load balancer of compose.fleet.yaml in front of three nodes. Source: docs/deployment.md, Load balancers. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { readExposition } from '../../packages/server/testing/prometheus.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { root } from '../source-files.ts'

/** A program of the machine, not of a package. */
const HAPROXY: string = 'haproxy'

const isInstalled = (() => {
  try {
    execFileSync(HAPROXY, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()
const headers = { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json' }

const opened = new AsyncDisposableStack()
let nodes: ServerProcess[]
let url: string

const get = (path: string) => fetch(url + path, { headers })

/** Starts a conversation without a model, over one of the two APIs. */
async function start(api: 'conversation service' | 'agent server'): Promise<string> {
  const body =
    api === 'conversation service'
      ? {}
      : {
          workspace: { kind: 'LocalWorkspace', working_dir: root },
          agent: { kind: 'Agent', llm: { model: 'm' }, tools: [] },
        }
  const response = await fetch(`${url}/api/conversations`, { method: 'POST', headers, body: JSON.stringify(body) })
  const { conversation_id, id } = (await response.json()) as { conversation_id?: string; id?: string }
  return (conversation_id ?? id)!
}

/** Requests and sockets that the nodes have passed on to each other. */
async function forwards(): Promise<number> {
  const counts = await Promise.all(
    nodes.map(async (node) => {
      const text = await (await fetch(`${node.url}/metrics`, { headers })).text()
      const family = readExposition(text).find(({ name }) => name === 'parley_forwards_total')
      return family!.samples.reduce((sum, { value }) => sum + value, 0)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

describe.skipIf(!isInstalled)('HAProxy', () => {
  beforeAll(async () => {
    const dir = opened.use(await tempDir())
    const database = opened.use(await testDatabase())
    nodes = await Promise.all(
      [1, 2, 3].map(async (n) =>
        opened.use(
          await startServerProcess({
            dataDir: dir.file(`node${n}`),
            env: {
              PARLEY_DATABASE_URL: database.url,
              PARLEY_SECRET_KEY: 'the same',
              PARLEY_TRUSTED_PROXIES: '127.0.0.1',
            },
          }),
        ),
      ),
    )
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const env = Object.fromEntries(nodes.map((node, at) => [`NODE${at + 1}`, new URL(node.url).host]))
    const child = spawn(HAPROXY, ['-db', '-f', `${root}deploy/haproxy.cfg`], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], BALANCER_BIND: `127.0.0.1:${port}`, ...env },
    })
    opened.defer(async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
    await until(async () => (await get('/ready').catch(() => null))?.status === 200, 60_000)
  }, 120_000)
  afterAll(() => opened.disposeAsync(), 60_000)

  test('starts go to all nodes, and what follows goes to the node that created the conversation', async () => {
    const ids: string[] = []
    for (let n = 0; n < 6; n += 1) ids.push(await start(n % 2 === 0 ? 'conversation service' : 'agent server'))
    for (const id of ids) {
      const forms = [id, id.replaceAll('-', ''), id.toUpperCase()]
      for (const form of forms) expect((await get(`/api/conversations/${form}`)).status, form).toBe(200)
      const message = { role: 'user', content: [{ type: 'text', text: 'hello' }], run: false }
      const sent = await fetch(`${url}/api/conversations/${id}/events`, {
        method: 'POST',
        headers,
        body: JSON.stringify(message),
      })
      expect(sent.status).toBe(200)
    }
    expect(await forwards()).toBe(0)
    const perNode = await Promise.all(
      nodes.map(async (node) => {
        const families = readExposition(await (await fetch(`${node.url}/metrics`, { headers })).text())
        return families.find(({ name }) => name === 'parley_live_conversations')!.samples[0]!.value
      }),
    )
    expect(perNode.reduce((sum, count) => sum + count, 0)).toBe(6)
    for (const count of perNode) expect(count).toBeGreaterThan(0)
  })

  test('a socket and an event stream through the balancer get each event when it is stored', async () => {
    const id = await start('conversation service')
    await using socket = openSocket(`${url.replace('http', 'ws')}/sockets/events/${id}`, {
      'x-session-api-key': TEST_KEY,
    })
    await socket.opened
    const leaving = new AbortController()
    const stream = await fetch(`${url}/api/conversations/${id}/events/stream`, { headers, signal: leaving.signal })
    let text = ''
    const reading = (async () => {
      for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) text += piece
    })().catch(() => undefined)
    const message = { role: 'user', content: [{ type: 'text', text: 'for both of them' }], run: false }
    socket.send(message)
    await socket.next(({ kind }) => kind === 'MessageEvent')
    await until(() => text.includes('for both of them'))
    leaving.abort()
    await reading
  })

  test('the metrics of the nodes are not reached through the balancer', async () => {
    expect((await get('/metrics')).status).toBe(404)
  })

  test('when a node has ended, its conversations are read through the others', async () => {
    const ids = [await start('agent server'), await start('agent server'), await start('agent server')]
    await nodes[1]![Symbol.asyncDispose]()
    await until(async () => {
      const answers = await Promise.all(ids.map((id) => get(`/api/conversations/${id}`)))
      return answers.every(({ status }) => status === 200)
    }, 60_000)
  })
})
