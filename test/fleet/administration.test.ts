/** Two servers on one database: what administrators change through one of them holds on the other. */
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { FINISH, startRequest, webhookEnv, WEBHOOK_SECRET } from '../../packages/server/testing/webhook-servers.ts'

const common = (database: { url: string }) => ({
  PARLEY_DATABASE_URL: database.url,
  PARLEY_SECRET_KEY: canary('server_secret_key'),
})

/** Starts a conversation through a server and lets it finish one turn. */
async function oneTurn(server: TestServer, model: Parameters<typeof startRequest>[1]): Promise<string> {
  const message = { content: [{ type: 'text', text: 'go' }] }
  const request = startRequest(server.dir.file('work'), model, { initial_message: message })
  const { status, body } = await server.call('POST', '/api/conversations', request)
  expect([status, body]).toMatchObject([201, {}])
  const path = `/api/conversations/${body.id}`
  await until(async () => (await server.call('GET', path)).body.execution_status === 'finished')
  return body.id as string
}

test('a node without a webhook target in its configuration sends to it all the same, each delivery once and in order', async () => {
  await using database = await testDatabase()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
  const configured = webhookEnv([receiver.url], { events: true, event_buffer_size: 3 })
  const first = await startTestServer({ ...common(database), ...configured })
  await using second = await startTestServer(common(database))
  const ids: string[] = []
  {
    await using _ended = first
    const sender = async () => (await second.call('GET', '/api/fleet')).body.webhook_targets[0].sender as number | null
    await until(async () => (await sender()) !== null)
    for (const server of [first, second, first, second]) ids.push(await oneTurn(server, model))
    for (const id of ids) expect((await second.call('DELETE', `/api/conversations/${id}`)).status).toBe(200)
  }
  // The sender of the target may have been the node that ended.
  ids.push(await oneTurn(second, model))
  expect((await second.call('DELETE', `/api/conversations/${ids.at(-1)}`)).status).toBe(200)
  const pending = async () =>
    (await second.call('GET', '/api/webhooks/deliveries?status=pending')).body.items as unknown[]
  const topics = (id: string) => receiver.about(id).map(({ headers }) => headers['x-parley-event'])
  await until(() => ids.every((id) => topics(id).includes('conversation.deleted')))
  await until(async () => (await pending()).length === 0)
  expect(receiver.faults).toEqual([])
  expect((await second.call('GET', '/api/webhooks/deliveries?status=parked')).body.items).toEqual([])
  expect(new Set(receiver.attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(receiver.accepted.length)
}, 60_000)

test('a key that is revoked through one node is refused by the others, and its sockets there are closed', async () => {
  await using database = await testDatabase()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using first = await startTestServer(common(database))
  await using second = await startTestServer(common(database))
  const { body: key } = await first.call('POST', '/api/keys', { user: 'default', role: 'user' })
  const as = { 'X-Session-API-Key': key.key as string }
  expect((await second.call('GET', '/api/conversations/count', undefined, as)).status).toBe(200)
  const id = await oneTurn(second, model)
  await using socket = openSocket(`${second.url.replace('http', 'ws')}/sockets/events/${id}`, as)
  await socket.opened
  expect((await first.call('DELETE', `/api/keys/${key.id}`)).status).toBe(200)
  expect((await second.call('GET', '/api/conversations/count', undefined, as)).status).toBe(401)
  expect((await socket.closed).code).toBe(4001)
}, 30_000)

test('a secret that is stored through one node is masked in the conversation of another one', async () => {
  await using database = await testDatabase()
  const value = canary('user_secret_2')
  await using model = await startScriptedModel({
    respond: ({ text }) =>
      text.includes('late-step-ended')
        ? FINISH
        : { toolCalls: [{ name: 'terminal', arguments: { command: 'echo "$LATE_SECRET late-step-ended"' } }] },
  })
  await using first = await startTestServer(common(database))
  await using second = await startTestServer(common(database))
  const request = startRequest(first.dir.file('work'), model)
  const agent = { ...request.agent, tools: [{ name: 'terminal' }] }
  const { body: made } = await first.call('POST', '/api/conversations', { ...request, agent })
  const path = `/api/conversations/${made.id}`
  await until(async () => (await first.call('GET', path)).body.execution_status === 'idle')
  expect((await second.call('POST', '/api/secrets', { name: 'LATE_SECRET', value })).status).toBe(201)
  const message = { role: 'user', content: [{ type: 'text', text: 'go' }], run: true }
  expect((await first.call('POST', `${path}/events`, message)).status).toBe(200)
  await until(async () => (await first.call('GET', path)).body.execution_status === 'finished')
  const stored = await database.query<{ event: string }>(
    `SELECT event FROM parley.events WHERE kind = 'ObservationEvent' AND event LIKE '%late-step-ended%'`,
  )
  expect(stored.map(({ event }) => event)).toEqual([expect.stringContaining('<secret-hidden> late-step-ended')])
  expect(stored[0]!.event).not.toContain(value)
}, 60_000)

test('the fleet names its nodes, what runs on them, and the store, for administrators only', async () => {
  await using database = await testDatabase()
  await using first = await startTestServer(common(database))
  await using second = await startTestServer(common(database))
  const { status, body } = await second.call('GET', '/api/fleet')
  expect([status, body]).toMatchObject([
    200,
    {
      is_shared: true,
      nodes: [
        { url: first.url, draining_at: null, is_this: false, running: 0 },
        { url: second.url, draining_at: null, is_this: true, running: 0 },
      ],
      orphans: 0,
      webhook_targets: [],
      store: { engine: 'postgresql', synchronous_standby: false },
    },
  ])
  const { body: key } = await first.call('POST', '/api/keys', { user: 'default', role: 'user' })
  expect((await first.call('GET', '/api/fleet', undefined, { 'X-Session-API-Key': key.key })).status).toBe(403)
}, 30_000)

test('a single server on a file is a fleet of one node', async () => {
  await using server = await startTestServer({})
  expect((await server.call('GET', '/api/fleet')).body).toMatchObject({
    is_shared: false,
    nodes: [{ is_this: true, running: 0 }],
    orphans: 0,
    store: { engine: expect.stringMatching(/sqlite|postgresql/) },
  })
}, 30_000)
