/** The notification of a batch that waits. Source: docs/webhooks.md, Waiting for a decision. */
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
} from '../../packages/server/testing/webhook-servers.ts'

const CALL = {
  name: 'terminal',
  arguments: { command: 'git push', summary: 'Publish the release', security_risk: 'HIGH' },
}

test('a target that asks for it is notified once of each waiting batch, and others see no gap in their numbers', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    respond: ({ view }) => (view.assistantTurns < 2 ? { toolCalls: [CALL] } : FINISH),
  })
  await using asking = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
  await using other = await startWebhookReceiver({ secret: WEBHOOK_SECRET })
  const target = { secret: WEBHOOK_SECRET, retry_delay: 0.02, events: false }
  const targets = [
    { base_url: asking.url, waiting: true, ...target },
    { base_url: other.url, ...target },
  ]
  await using server = await startServerProcess({
    dataDir: dir.file('data'),
    env: { PARLEY_WEBHOOKS: JSON.stringify(targets) },
  })
  // The first attempt is answered with an error, and repeated.
  asking.behave = ({ path }, attempt) => (path === '/waiting' && attempt === 1 ? { status: 503 } : undefined)
  const request = startRequest(dir.file('work'), model, {
    confirmation_policy: { kind: 'AlwaysConfirm' },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    autotitle: false,
  })
  const id = await startConversation(server, {
    ...request,
    agent: { ...request.agent, tools: [{ name: 'terminal' }] },
  })
  const at = `/api/conversations/${id}`
  const waiting = () => asking.accepted.filter(({ path }) => path === '/waiting')
  const waits = async () =>
    until(async () => (await server.call('GET', at)).body.execution_status === 'waiting_for_confirmation')
  await server.call('PATCH', at, { title: 'Release the site' })
  await server.call('POST', `${at}/events`, { content: [{ type: 'text', text: 'Go' }], run: true })
  await waits()
  await until(() => waiting().length === 1)
  const { body } = waiting()[0]!
  expect(body).toEqual({
    conversation_id: id,
    title: 'Release the site',
    batch_id: (await server.call('GET', '/api/approvals')).body.approvals[0].batch_id,
    page: expect.stringMatching(`^/c/${id}\\?at=\\d+$`),
    actions: [
      {
        action_id: expect.any(String),
        risk: 'HIGH',
        tool_name: 'terminal',
        summary: 'Publish the release',
        arguments: expect.stringContaining('git push'),
        is_shortened: false,
      },
    ],
  })
  expect(waiting()[0]!.headers['x-parley-event']).toBe('conversation.waiting')
  await server.call('POST', `${at}/events/respond_to_confirmation`, { accept: false, batch_id: body.batch_id })
  await server.call('POST', `${at}/run`, {})
  await until(() => waiting().length === 2)
  expect(waiting()[1]!.body.batch_id).not.toBe(body.batch_id)
  await server.call('DELETE', at)
  const topics = (receiver: typeof other) =>
    receiver.accepted.filter(({ path }) => path === '/conversations').map(({ headers }) => headers['x-parley-event'])
  for (const receiver of [asking, other]) {
    await until(() => topics(receiver).includes('conversation.deleted'))
    expect(receiver.faults).toEqual([])
  }
  expect(other.attempts.some(({ path }) => path === '/waiting')).toBe(false)
  expect(waiting().length).toBe(2)
}, 60_000)
