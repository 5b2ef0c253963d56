import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import {
  FINISH,
  startConversation,
  startRequest,
  WEBHOOK_SECRET,
  webhookEnv,
} from '../../packages/server/testing/webhook-servers.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

const noLists = { costs: [], response_latencies: [], token_usages: [] }

test('lists and webhook notifications show the sums of the usage and read none of its records', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
  const dataDir = dir.file('data')
  await using server = await startServerProcess({ dataDir, env: webhookEnv([receiver.url]) })
  const message = { content: [{ type: 'text', text: 'go' }] }
  const request = startRequest(dir.file('work'), model, { initial_message: message, autotitle: false })
  const id = await startConversation(server, request)
  const at = `/api/conversations/${id}`
  await until(async () => (await server.call('GET', at)).body.execution_status === 'finished')
  const { default: metrics } = (await server.call('GET', at)).body.stats.usage_to_metrics
  expect(metrics.token_usages).toHaveLength(1)
  expect(metrics.accumulated_token_usage.prompt_tokens).toBeGreaterThan(0)

  // From now on, reading one record of the usage fails.
  const damaged = "UPDATE events SET event = '{' WHERE kind = 'UsageRecordedEvent' RETURNING seq"
  expect(await queryStore(dataDir, damaged)).toHaveLength(1)

  const { items } = (await server.call('GET', '/api/conversations/search')).body
  const batch = (await server.call('GET', `/api/conversations?ids=${id}`)).body
  await server.call('PATCH', at, { title: 'A new name' })
  const updated = () => receiver.about(id).find(({ headers }) => headers['x-parley-event'] === 'conversation.updated')
  await until(() => updated() !== undefined)
  for (const info of [items[0], batch[0], updated()!.body])
    expect(info.stats.usage_to_metrics).toEqual({ default: { ...metrics, ...noLists } })
})

test('a list shows a received conversation without the lists of its metrics, and its own answer keeps them', async () => {
  await using dir = await tempDir()
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  const id = '0c6a2f0e-3b1d-4c56-9a52-0f6f4f8a7b11'
  const usage = { model_name: 'm', accumulated_cost: 2.5, costs: [{ model: 'm', cost: 2.5, timestamp: 1 }] }
  const received = await server.call('POST', '/api/v1/webhooks/conversations', {
    id,
    workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
    agent: { kind: 'Agent', llm: { model: 'some/model', usage_id: 'agent' } },
    stats: { usage_to_metrics: { agent: usage } },
  })
  expect(received.body).toEqual({ success: true })
  const { items } = (await server.call('GET', '/api/conversations/search')).body
  const batch = (await server.call('GET', `/api/conversations?ids=${id}`)).body
  for (const info of [items[0], batch[0]])
    expect(info.stats.usage_to_metrics.agent).toMatchObject({ accumulated_cost: 2.5, ...noLists })
  const { body } = await server.call('GET', `/api/conversations/${id}`)
  expect(body.stats.usage_to_metrics.agent.costs).toEqual(usage.costs)
})
