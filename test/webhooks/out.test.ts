import { ConversationInfo, hexId, asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { wholeLog } from '../../packages/server/testing/whole-log.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { serve } from '../../packages/server/testing/multi-user-server.ts'
import { verifies } from '../verifies.ts'
import {
  FINISH,
  WEBHOOK_SECRET,
  startConversation,
  startRequest,
  webhookEnv,
  type Loose,
} from '../../packages/server/testing/webhook-servers.ts'

const notifications = (receiver: WebhookReceiver, id: string) =>
  receiver.about(id).filter(({ path }) => path === '/conversations')
const events = (receiver: WebhookReceiver, id: string) =>
  notifications(receiver, id).map(
    ({ headers, body }) => `${String(headers['x-parley-event'])} ${body.execution_status}`,
  )

verifies(
  [
    'seed.service.webhook-started',
    'seed.service.webhook-paused',
    'seed.service.webhook-resumed',
    'seed.service.webhook-deleted',
    'seed.events.webhook-request',
    'seed.conversation-info.sub_conversation_ids.webhook',
    'design.webhook.event-header',
    'design.webhook.targets',
    'design.webhook.signed',
    'design.webhook.api-key',
    'design.webhook.ordered',
  ],
  'start, pause, resume, edit, fork and deletion are sent to every target, in order, with the whole conversation',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ respond: () => FINISH })
    await using receiver = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
    await using second = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
    await using server = await startServerProcess({
      dataDir: dir.file('data'),
      env: webhookEnv([receiver.url, `${second.url}/`], { api_key: 'key-of-the-receiver' }),
    })
    const id = await startConversation(server, startRequest(dir.file('work'), model, { tags: { team: 'blue' } }))
    const at = `/api/conversations/${id}`
    await until(async () => (await server.call('GET', at)).body.execution_status === 'idle')
    const child = await startConversation(server, startRequest(dir.file('work'), model, { parent_conversation_id: id }))
    expect((await server.call('POST', `${at}/pause`)).status).toBe(200)
    expect((await server.call('POST', `${at}/run`)).status).toBe(200)
    await until(async () => (await server.call('GET', at)).body.execution_status === 'finished')
    await server.call('PATCH', at, { title: 'A new name' })
    const shown = (await server.call('GET', `${at}?include_skills=true`)).body
    const [listed] = (await server.call('GET', `/api/conversations?ids=${id}&include_skills=true`)).body
    const fork = (await server.call('POST', `${at}/fork`, {})).body.id
    expect((await server.call('DELETE', at)).status).toBe(200)

    for (const each of [receiver, second]) {
      await until(() => events(each, id).length === 5 && events(each, fork).length === 1)
      expect(events(each, id)).toEqual([
        'conversation.started idle',
        'conversation.paused paused',
        'conversation.resumed running',
        'conversation.updated finished',
        'conversation.deleted deleting',
      ])
      expect(events(each, fork)).toEqual(['conversation.started idle'])
      expect(events(each, child)).toEqual(['conversation.started idle'])
      expect(each.faults).toEqual([])
      expect(each.attempts.every(({ path }) => path === '/conversations')).toBe(true)
    }
    const [started, , resumed, updated, deleted] = notifications(receiver, id).map(({ body }) => body)
    for (const body of [started, resumed, updated, deleted]) {
      expect(ConversationInfo.parse(body)).toMatchObject({ id, tags: { team: 'blue' }, sub_conversation_ids: [] })
      expect(body.agent.llm.api_key).toBeNull()
      expect(body.agent.agent_context.skills).toMatchObject([{ name: 'a-skill', content: 'in full' }])
      expect(body.hook_config).toBeNull()
    }
    expect(shown.sub_conversation_ids).toEqual([child])
    // The notification equals the item of a list at that time, except for members derived from other conversations.
    expect(updated).toEqual({ ...listed, sub_conversation_ids: [] })
    expect(receiver.attempts.every(({ text }) => !text.includes(canary('llm_key')))).toBe(true)
    expect(receiver.accepted[0]!.headers).toMatchObject({ 'x-session-api-key': 'key-of-the-receiver' })
    expect(receiver.accepted[0]!.headers['webhook-id']).toMatch(/^[\w-]{20,}$/)
  },
)

verifies(
  ['design.webhook.events'],
  'events are sent in batches, in order and once, including null members and events before a deletion',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ respond: () => FINISH })
    await using receiver = await startWebhookReceiver()
    const env = webhookEnv([receiver.url], { events: true, event_buffer_size: 4 })
    await using server = await startServerProcess({ dataDir: dir.file('data'), env })
    const message = { content: [{ type: 'text', text: 'go' }] }
    const id = await startConversation(server, startRequest(dir.file('work'), model, { initial_message: message }))
    const at = `/api/conversations/${id}`
    await until(async () => (await server.call('GET', at)).body.execution_status === 'finished')
    const items = await wholeLog(server.url, id, TEST_KEY)
    const count = items.length
    const batches = () => receiver.about(id).filter(({ path }) => path === `/events/${hexId(asConversationId(id))}`)
    const sent = () => batches().flatMap(({ body }) => body as Loose[])
    await server.call('DELETE', at)
    await until(() => sent().length === count)
    expect(sent().map((event) => event.id)).toEqual(items.map((event: Loose) => event.id))
    expect(batches().every(({ body }) => body.length <= 4)).toBe(true)
    expect(batches().every(({ headers }) => headers['x-parley-event'] === 'conversation.events')).toBe(true)
    expect(sent().find(({ kind }) => kind === 'MessageEvent').llm_message).toHaveProperty('tool_calls', null)
    expect(receiver.faults).toEqual([])
  },
)

verifies(
  ['design.webhook.at-least-once', 'design.webhook.retry'],
  'a refused notification is parked, listed for administrators and sent again on request',
  async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ respond: () => FINISH })
    await using receiver = await startWebhookReceiver({ behave: () => ({ status: 404 }) })
    await using server = await startServerProcess({ dataDir: dir.file('data'), env: webhookEnv([receiver.url]) })
    const id = await startConversation(server, startRequest(dir.file('work'), model))
    const list = async (query = '') => (await server.call('GET', `/api/webhooks/deliveries${query}`)).body
    await until(async () => (await list('?status=parked')).items.length === 1)
    const [parked] = (await list()).items
    expect(parked).toMatchObject({
      target: receiver.url,
      conversation_id: id,
      kind: 'notification',
      event: 'conversation.started',
      sequence: 1,
      status: 'parked',
      attempts: 1,
      last_status: 404,
      last_error: 'HTTP 404',
      next_attempt_at: null,
    })
    receiver.behave = (_, attempt) => (attempt === 2 ? { status: 500 } : undefined)
    expect(await server.call('POST', `/api/webhooks/deliveries/${parked.id}/redeliver`)).toMatchObject({
      status: 200,
      body: { success: true },
    })
    await until(() => receiver.accepted.length === 1)
    expect(new Set(receiver.attempts.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([parked.id]))
    await until(async () => (await list('?status=delivered&limit=1')).items.length === 1)
    expect((await server.call('POST', '/api/webhooks/deliveries/nothing/redeliver')).status).toBe(404)
    expect((await server.call('GET', '/api/webhooks/deliveries?status=lost')).status).toBe(422)
    const paths = (await server.call('GET', '/openapi.json')).body.paths
    expect(Object.keys(paths)).toContain('/api/webhooks/deliveries')
    expect(Object.keys(paths)).toContain('/api/webhooks/deliveries/{delivery_id}/redeliver')
  },
)

verifies(['seed.events.only-notification'], 'a target without events gets only notifications', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using receiver = await startWebhookReceiver()
  await using server = await startServerProcess({ dataDir: dir.file('data'), env: webhookEnv([receiver.url]) })
  const message = { content: [{ type: 'text', text: 'go' }] }
  const id = await startConversation(server, startRequest(dir.file('work'), model, { initial_message: message }))
  await until(async () => (await server.call('GET', `/api/conversations/${id}`)).body.execution_status === 'finished')
  await server.call('DELETE', `/api/conversations/${id}`)
  await until(() => events(receiver, id).at(-1) === 'conversation.deleted deleting')
  expect(new Set(receiver.attempts.map(({ path }) => path))).toEqual(new Set(['/conversations']))
})

test('without a target no delivery is written, and only administrators can list deliveries', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using serving = await serve(dir.file('data'))
  const { server, call, keys } = serving
  await startConversation(server, startRequest(dir.file('work'), model))
  expect((await call('GET', '/api/webhooks/deliveries')).json).toEqual({ items: [], next_after: null })
  expect(await call('GET', '/api/webhooks/deliveries', undefined, { key: keys.ann })).toMatchObject({ status: 403 })
  expect(await call('POST', '/api/webhooks/deliveries/x/redeliver', undefined, { key: keys.ann })).toMatchObject({
    status: 403,
  })
})
