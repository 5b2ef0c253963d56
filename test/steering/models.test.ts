import { afterEach, beforeEach, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { command } from '../../packages/server/testing/instructed-model.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startKillable, startTalking, type Talking } from '../../packages/server/testing/steered-conversations.ts'

let gate = Promise.withResolvers<ScriptedAnswer>()
let server: Talking
beforeEach(async () => {
  gate = Promise.withResolvers<ScriptedAnswer>()
  server = await startTalking((request) =>
    request.view.model === 'slow' ? gate.promise : { text: `I am ${request.view.model}.` },
  )
})
afterEach(() => server[Symbol.asyncDispose]())

const UNKNOWN = '/api/conversations/00000000-0000-4000-8000-000000000000'
const llm = (name: string, more: object = {}) => ({
  model: `openai/${name}`,
  base_url: `${server.model.url}/v1`,
  api_key: 'k-other-model',
  num_retries: 0,
  ...more,
})
const newest = async (id: string) =>
  (await server.events(id)).findLast(({ kind, source }) => kind === 'MessageEvent' && source === 'agent')?.llm_message
    .content[0].text

test('another model answers from the next message on, and watchers receive it without its key', async () => {
  const id = await server.open()
  await server.say(id, 'Who are you?')
  await server.reaches(id, 'finished')
  expect(await newest(id)).toBe('I am scripted.')
  expect(await server.post(id, '/switch_llm', { llm: llm('second', { usage_id: 'second' }) })).toEqual({
    status: 200,
    body: { success: true },
  })
  await server.say(id, 'And now?')
  await until(async () => (await newest(id)) === 'I am second.')
  const [told] = await server.updates(id, 'agent')
  expect(told).toMatchObject({
    kind: 'Agent',
    llm: { model: 'openai/second', api_key: '**********' },
    tools: [{ name: 'terminal' }],
  })
  expect((await server.info(id)).agent.llm).toMatchObject({ model: 'openai/second', api_key: null })
  expect(JSON.stringify(await server.events(id))).not.toContain('k-other-model')
  expect(server.model.requests.at(-1)?.headers['authorization']).toBe('Bearer k-other-model')
  await until(async () => 'second' in (await server.info(id)).stats.usage_to_metrics)
})

test('a switch during a step takes effect at the next step', async () => {
  const id = await server.open({ agent: server.agent({ model: 'openai/slow' }) })
  await server.say(id, 'go')
  await until(() => server.model.requests.length === 1)
  expect((await server.post(id, '/switch_llm', { llm: llm('second') })).status).toBe(200)
  gate.resolve(command('echo one'))
  await server.reaches(id, 'finished')
  expect(server.model.requests.map(({ view }) => view.model)).toEqual(['slow', 'second'])
})

test("a summariser with the agent's model changes with it", async () => {
  const own = {
    model: 'openai/scripted',
    base_url: `${server.model.url}/v1`,
    api_key: canary('llm_key'),
    num_retries: 0,
  }
  const condenser = (name: string) => ({
    kind: 'LLMSummarizingCondenser',
    llm: { ...own, model: name, usage_id: 'condenser' },
  })
  const follows = await server.open({ agent: server.agent({}, { condenser: condenser('openai/scripted') }) })
  const stays = await server.open({ agent: server.agent({}, { condenser: condenser('openai/other') }) })
  for (const id of [follows, stays]) await server.post(id, '/switch_llm', { llm: llm('second') })
  expect((await server.info(follows)).agent.condenser.llm).toMatchObject({
    model: 'openai/second',
    usage_id: 'condenser',
  })
  expect((await server.info(stays)).agent.condenser.llm).toMatchObject({ model: 'openai/other' })
})

test('switching to a profile uses its model as stored at that moment', async () => {
  const id = await server.open()
  await server.call('POST', '/api/profiles/work', { llm: llm('second') })
  expect((await server.post(id, '/switch_profile', { profile_name: 'work' })).status).toBe(200)
  await server.call('POST', '/api/profiles/work', { llm: llm('third') })
  await server.post(id, '/switch_profile', { profile_name: 'work' })
  await server.say(id, 'Who are you?')
  await until(async () => (await newest(id)) === 'I am third.')
  expect((await server.info(id)).agent.llm.usage_id).toBe('profile:work')
})

test('an encrypted key that this server issued is decrypted', async () => {
  await server.call('POST', '/api/profiles/work', { llm: llm('second') })
  const { body } = await server.call('GET', '/api/profiles/work', undefined, { 'X-Expose-Secrets': 'encrypted' })
  const id = await server.open()
  expect((await server.post(id, '/switch_llm', { llm: body.config })).status).toBe(200)
  await server.say(id, 'Who are you?')
  await until(async () => (await newest(id)) === 'I am second.')
  expect(server.model.requests.at(-1)?.headers['authorization']).toBe('Bearer k-other-model')
})

test('a switched model survives a restart', async () => {
  await using killable = await startKillable((request) => ({ text: `I am ${request.view.model}.` }))
  const id = await killable.open()
  await killable.post(id, '/switch_llm', { llm: { ...llm('second'), base_url: `${killable.model.url}/v1` } })
  await killable.restart('kill')
  await killable.say(id, 'Who are you?')
  await killable.reaches(id, 'finished')
  const [answer] = (await killable.events(id)).filter(
    ({ kind, source }) => kind === 'MessageEvent' && source === 'agent',
  )
  expect(answer.llm_message.content[0].text).toBe('I am second.')
})

test('an impossible switch is refused with the reason', async () => {
  const id = await server.open()
  expect(await server.post(id, '/switch_profile', { profile_name: 'absent' })).toEqual({
    status: 404,
    body: { detail: "Profile 'absent' not found", profile_name: 'absent' },
  })
  expect(await server.post(id, '/switch_acp_model', { model: 'x' })).toMatchObject({ status: 400 })
  const plugin = await server.post(id, '/load_plugin', { plugin_ref: 'a@b' })
  expect([plugin.status, plugin.body.detail]).toEqual([
    400,
    expect.stringContaining('this version knows no marketplaces'),
  ])
  expect((await server.post(id, '/switch_llm', { llm: { model: '' } })).status).toBe(422)
  const bodies = {
    switch_llm: { llm: llm('x') },
    switch_profile: { profile_name: 'x' },
    switch_acp_model: { model: 'x' },
    load_plugin: { plugin_ref: 'x' },
    secrets: { secrets: {} },
  }
  for (const [path, body] of Object.entries(bodies)) {
    expect(await server.call('POST', `${UNKNOWN}/${path}`, body)).toEqual({
      status: 404,
      body: { detail: 'Not Found' },
    })
    const others = await server.call('POST', `/api/conversations/${id}/${path}`, body, server.bob)
    expect(others).toEqual({ status: 404, body: { detail: 'Not Found' } })
  }
})
