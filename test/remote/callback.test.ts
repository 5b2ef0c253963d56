/** Completion callbacks of runs in a remote workspace. Sources: interface.md, Workspace variants; docs/remote-workspace.md, Callback. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { agentOf, finish, REMOTE_KEY, run, startOn } from '../../packages/server/testing/remote-conversations.ts'
import { until } from '../../packages/server/testing/until.ts'

type Told = { headers: IncomingHttpHeaders; text: string; body: any }

/** Receiver of callbacks that refuses a given number of them first. */
async function startListener(refusals = 0) {
  const taken: Told[] = []
  const attempts: Told[] = []
  const server = createServer(async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const told = { headers: incoming.headers, text, body: JSON.parse(text) }
    attempts.push(told)
    if (attempts.length <= refusals) return void response.writeHead(503).end()
    taken.push(told)
    response.writeHead(200).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/done`,
    taken,
    attempts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

verifies(
  [
    'seed.workspace.remote.callback.url',
    'seed.workspace.remote.callback.key',
    'seed.auth.callback-bearer',
    'seed.workspace.remote.callback.run-id',
  ],
  'each run is reported once with its end, the bearer token and the run id, and a refused callback is repeated',
  async () => {
    await using dir = await tempDir()
    await using listener = await startListener(1)
    const broken = { status: 400, error: 'scripted refusal' }
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using there = await startServerProcess({
      dataDir: dir.file('b'),
      env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path },
    })
    await using here = await startServerProcess({
      dataDir: dir.file('a'),
      env: {
        AUTOMATION_CALLBACK_URL: listener.url,
        AUTOMATION_CALLBACK_API_KEY: 'callback-key-0123456789',
        AUTOMATION_RUN_ID: 'run-7',
      },
    })
    const workspace = { kind: 'RemoteWorkspace', host: there.url, working_dir: dir.file('work'), api_key: REMOTE_KEY }
    // A run in a workspace on this machine causes no callback.
    const local = await startOn(here, { workspace: { working_dir: dir.file('local') }, agent: agentOf(model.url) })
    await until(
      async () => (await here.call('GET', `/api/conversations/${local}`)).body.execution_status === 'finished',
    )

    // Answers are selected by the prompt, so that other requests, such as for a title, use none of them.
    const steps = [run('true'), finish]
    await using second = await startScriptedModel({
      respond: ({ text, view }) => (text.includes('once more') ? broken : (steps[view.assistantTurns] ?? finish)),
    })
    const id = await startOn(here, { workspace, agent: agentOf(second.url) })
    await until(() => listener.taken.length === 1)
    const [first] = listener.taken
    expect(first!.body).toEqual({
      status: 'COMPLETED',
      execution_status: 'finished',
      conversation_id: id,
      run_id: 'run-7',
      cost: expect.any(Number),
    })
    expect(first!.headers.authorization).toBe('Bearer callback-key-0123456789')
    const { 'webhook-id': webhookId, 'webhook-timestamp': at } = first!.headers
    expect(listener.attempts.map(({ headers }) => headers['webhook-id'])).toEqual([webhookId, webhookId])
    const mac = createHmac('sha256', 'callback-key-0123456789').update(
      `${String(webhookId)}.${String(at)}.${first!.text}`,
    )
    expect(first!.headers['webhook-signature']).toBe(`v1,${mac.digest('base64')}`)

    const content = [{ type: 'text', text: 'once more' }]
    const { status } = await here.call('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
    expect(status).toBe(200)
    await until(() => listener.taken.length === 2)
    expect(listener.taken[1]!.body).toMatchObject({ status: 'FAILED', execution_status: 'error', run_id: 'run-7' })
    expect(listener.taken[1]!.body.error).toMatch(/scripted refusal/)

    expect((await here.call('DELETE', `/api/conversations/${id}`)).status).toBe(200)
    const all = JSON.stringify(listener.attempts)
    expect(all).not.toContain(REMOTE_KEY)
    expect(here.stderr()).not.toMatch(/callback-key/)
    expect(here.stderr()).not.toContain(REMOTE_KEY)
    expect(listener.taken.every(({ body }) => body.conversation_id === id)).toBe(true)
    expect(listener.taken).toHaveLength(2)
  },
  60_000,
)

test('the next process reports a run whose callback was not accepted, once', async () => {
  await using dir = await tempDir()
  await using listener = await startListener(1)
  await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
  await using there = await startServerProcess({
    dataDir: dir.file('b'),
    env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path },
  })
  const env = { AUTOMATION_CALLBACK_URL: listener.url }
  const first = await startServerProcess({ dataDir: dir.file('a'), env })
  const workspace = { kind: 'RemoteWorkspace', host: there.url, working_dir: dir.file('work'), api_key: REMOTE_KEY }
  const id = await startOn(first, { workspace, agent: agentOf(model.url) })
  await until(() => listener.attempts.length === 1)
  await first.kill()
  await using second = await startServerProcess({ dataDir: dir.file('a'), env })
  await until(() => listener.taken.length === 1)
  expect(listener.taken[0]!.body).toMatchObject({
    status: 'COMPLETED',
    execution_status: 'finished',
    conversation_id: id,
  })
  expect(listener.taken[0]!.headers.authorization).toBeUndefined()
  await second.call('DELETE', `/api/conversations/${id}`)
  expect(listener.taken).toHaveLength(1)
}, 60_000)

verifies(
  'seed.workspace.remote.callback.optional',
  'no callback is posted without an address',
  async () => {
    await using dir = await tempDir()
    await using listener = await startListener()
    await using model = await startScriptedModel({ by: 'turn', answers: [finish] })
    await using there = await startServerProcess({
      dataDir: dir.file('b'),
      env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path },
    })
    await using here = await startServerProcess({ dataDir: dir.file('a'), env: { AUTOMATION_RUN_ID: 'run-7' } })
    const workspace = { kind: 'RemoteWorkspace', host: there.url, working_dir: dir.file('work'), api_key: REMOTE_KEY }
    const id = await startOn(here, { workspace, agent: agentOf(model.url) })
    await until(async () => (await here.call('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
    expect((await here.call('DELETE', `/api/conversations/${id}`)).status).toBe(200)
    expect(listener.attempts).toEqual([])
  },
  60_000,
)
