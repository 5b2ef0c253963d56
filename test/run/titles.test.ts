import { expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

/** Title requests come without tools. */
const entitling = (title: ScriptedAnswer) =>
  startScriptedModel({ respond: ({ view }) => (view.tools.length === 0 ? title : { text: 'done' }) })
const first = { autotitle: true, initial_message: message('Please fix the login page of the shop') }

test('a conversation makes a title from its first message and notifies the webhooks', async () => {
  await using model = await entitling({ text: '"🐛 Login page of the shop"', usage: { input: 30, output: 7 } })
  await using receiver = await startWebhookReceiver()
  await using server = await startTestServer({
    PARLEY_WEBHOOKS: JSON.stringify([{ base_url: receiver.url, flush_delay: 0.05 }]),
  })
  const named = await start(server, starting(model, server.dir.file('work'), first))
  await until(async () => (await named.info()).title !== null)
  expect((await named.info()).title).toBe('🐛 Login page of the shop')
  await named.is('finished')
  const { usage_to_metrics } = (await named.info()).stats
  expect(usage_to_metrics.title.accumulated_token_usage).toMatchObject({ prompt_tokens: 30 })
  expect(usage_to_metrics.default.token_usages).toHaveLength(1)
  await until(() =>
    receiver.accepted.some(
      ({ headers, body }) =>
        headers['x-parley-event'] === 'conversation.updated' && body.title === '🐛 Login page of the shop',
    ),
  )
  expect(await named.kinds('ConversationErrorEvent')).toEqual([])

  // Once is enough.
  const before = model.requests.length
  await named.say('And the logout page')
  await until(() => model.requests.length > before)
  await named.is('finished')
  expect(model.requests.filter(({ view }) => view.tools.length === 0)).toHaveLength(1)
})

test('without an answering model the message becomes the title, and nothing fails', async () => {
  await using model = await entitling({ status: 500, error: 'down' })
  await using server = await startTestServer()
  const named = await start(server, starting(model, server.dir.file('work'), first))
  await until(async () => (await named.info()).title !== null)
  expect((await named.info()).title).toBe('Please fix the login page of the shop')
  await named.is('finished')
  expect(await named.kinds('ConversationErrorEvent')).toEqual([])
})

test("a person's title is never replaced, also while one is being made, and no title is made when none is wanted", async () => {
  await using model = await entitling({ text: 'Made', delayMs: 300 })
  await using server = await startTestServer()
  const work = server.dir.file('work')
  const named = await start(server, starting(model, work, first))
  await until(() => model.requests.some(({ view }) => view.tools.length === 0))
  await server.call('PATCH', `/api/conversations/${named.id}`, { title: 'Mine' })
  await until(async () => (await named.info()).stats.usage_to_metrics.title !== undefined)
  expect((await named.info()).title).toBe('Mine')

  const unnamed = await start(server, starting(model, work, { ...first, autotitle: false }))
  await unnamed.is('finished')
  expect((await unnamed.info()).title).toBeNull()
})

test('the model of the requested profile makes the title', async () => {
  await using model = await entitling({ text: 'From the profile' })
  await using server = await startTestServer()
  const llm = llmOf(model, { model: 'openai/small' })
  expect((await server.call('POST', '/api/profiles/small', { llm, include_secrets: true })).status).toBe(201)
  const named = await start(server, starting(model, server.dir.file('work'), { ...first, title_llm_profile: 'small' }))
  await until(async () => (await named.info()).title === 'From the profile')
  expect(model.requests.find(({ view }) => view.tools.length === 0)!.view.model).toBe('small')
})
