import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import {
  FINISH,
  startConversation,
  startRequest,
  webhookEnv,
  type Loose,
} from '../../packages/server/testing/webhook-servers.ts'

test('conversations and events of one server appear on another server that is its webhook target', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using there = await startServerProcess({
    dataDir: dir.file('there'),
    env: { PARLEY_SESSION_API_KEYS: `${TEST_KEY},key-of-there` },
  })
  const env = webhookEnv([`${there.url}/api/v1/webhooks`], { api_key: 'key-of-there', events: true })
  await using here = await startServerProcess({
    dataDir: dir.file('here'),
    env: { ...env, PARLEY_SESSION_API_KEYS: TEST_KEY },
  })
  const message = { content: [{ type: 'text', text: 'go' }] }
  const id = await startConversation(
    here,
    startRequest(dir.file('work'), model, { initial_message: message, tags: { team: 'blue' } }),
  )
  const at = `/api/conversations/${id}`
  await until(async () => (await here.call('GET', at)).body.execution_status === 'finished')
  await here.call('PATCH', at, { title: 'Across' })

  await until(async () => (await there.call('GET', at)).body?.title === 'Across')
  const [ours, theirs] = await Promise.all(
    [here, there].map(async (server) => (await server.call('GET', `${at}?include_skills=true`)).body),
  )
  expect(theirs).toEqual(withSumsOnly(ours))
  const ids = async (server: typeof here) =>
    (await server.call('GET', `${at}/events/search`)).body.items.map((event: Loose) => event.id)
  const expected = await ids(here)
  await until(async () => (await ids(there)).length === expected.length)
  expect(await ids(there)).toEqual(expected)
  const shown = async (server: typeof here) => (await server.call('GET', `${at}/events/search`)).body.items
  expect((await shown(there)).map(({ kind }: Loose) => kind)).toEqual(
    (await shown(here)).map(({ kind }: Loose) => kind),
  )
  expect((await there.call('POST', `${at}/run`)).status).toBe(409)

  await here.call('DELETE', at)
  await until(async () => (await there.call('GET', at)).status === 404)
  expect((await there.call('GET', '/api/conversations/count')).body).toBe(0)
})

/** An info as notifications contain it: the lists of the metrics are empty. */
function withSumsOnly(info: Loose): Loose {
  const stats = Object.entries(info.stats.usage_to_metrics as Record<string, Loose>).map(([usage, metrics]) => [
    usage,
    { ...metrics, costs: [], response_latencies: [], token_usages: [] },
  ])
  return { ...info, stats: { ...info.stats, usage_to_metrics: Object.fromEntries(stats) } }
}

test('a server whose own deliveries are passed back to it shows each conversation once, as a local one', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using relay = await startWebhookReceiver()
  await using server = await startServerProcess({
    dataDir: dir.file('data'),
    env: webhookEnv([relay.url], { events: true }),
  })
  relay.behave = async ({ path, text }) => {
    const headers = { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json' }
    const { status } = await fetch(`${server.url}/api/v1/webhooks${path}`, { method: 'POST', headers, body: text })
    return status === 200 ? undefined : { status }
  }
  const id = await startConversation(server, startRequest(dir.file('work'), model))
  await until(
    async () => (await server.call('GET', '/api/webhooks/deliveries?status=delivered')).body.items.length >= 2,
  )
  expect((await server.call('GET', '/api/conversations/count')).body).toBe(1)
  expect((await server.call('POST', `/api/conversations/${id}/pause`)).status).toBe(200)
})
