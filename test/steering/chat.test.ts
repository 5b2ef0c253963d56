import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { command } from '../../packages/server/testing/instructed-model.ts'
import { KEY } from '../../packages/server/testing/two-user-server.ts'
import { startTalking, type Json, type Talking } from '../../packages/server/testing/steered-conversations.ts'

let answer: ScriptedAnswer | Promise<ScriptedAnswer>
let server: Talking
beforeEach(async () => {
  answer = { text: 'Hello back.', usage: { input: 12, output: 3 } }
  server = await startTalking(() => answer)
  const llm = {
    model: 'openai/scripted',
    base_url: `${server.model.url}/v1`,
    api_key: canary('llm_key'),
    num_retries: 0,
  }
  await server.call('POST', '/api/profiles/work', { llm })
})
afterEach(() => server[Symbol.asyncDispose]())

const HEADER = 'X-OpenHands-ServerConversation-ID'
async function chat(messages: Json[], members: Json = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'openhands_work', messages, ...members }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    id: response.headers.get(HEADER),
    text,
    body: isJson ? JSON.parse(text) : null,
    headers: response.headers,
  }
}
const user = (content: Json) => ({ role: 'user', content })

test('the models endpoint lists each profile, with a bearer key and with the usual header', async () => {
  const expected = {
    object: 'list',
    data: [{ id: 'openhands_work', object: 'model', created: 0, owned_by: 'openhands' }],
  }
  expect(await server.call('GET', '/v1/models')).toEqual({ status: 200, body: expected })
  const bearer = (key: string) => fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  expect(await (await bearer(KEY)).json()).toEqual(expected)
  expect((await bearer('wrong')).status).toBe(401)
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(401)
  expect((await server.call('GET', '/v1/models', undefined, server.bob)).body.data).toEqual([])
})

test('a completion starts a conversation, and the next completion continues it', async () => {
  const first = await chat([{ role: 'system', content: 'Be brief.' }, user('Hello.')])
  expect(first.body).toEqual({
    id: expect.stringMatching(/^chatcmpl-./),
    object: 'chat.completion',
    created: expect.any(Number),
    model: 'openhands_work',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello back.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  })
  expect(server.model.requests.some(({ text }) => text.includes('Be brief.'))).toBe(true)
  answer = { text: 'Again.', usage: { input: 20, output: 2 } }
  const history = [user('Hello.'), { role: 'assistant', content: 'Hello back.' }, user('And again?')]
  const second = await chat(history, {}, { [HEADER]: first.id! })
  expect([second.id, second.body.choices[0].message.content]).toEqual([first.id, 'Again.'])
  expect(second.body.usage.prompt_tokens).toBe(20)
  // Callers keep completions apart by it; the conversation is named in the header.
  expect(second.body.id).not.toBe(first.body.id)
  const said = (await server.events(first.id!)).filter(
    ({ kind, source }) => kind === 'MessageEvent' && source === 'user',
  )
  expect(said.map(({ llm_message }) => llm_message.content[0].text)).toEqual(['Hello.', 'And again?'])
})

test('an unknown id becomes the id of the new conversation, which receives the earlier messages', async () => {
  const id = '2f1c9a52-7a4e-4d0b-9c39-0d7a1c2b3e4f'
  const history = [
    user('I am Ada.'),
    { role: 'assistant', content: 'Hello Ada.' },
    user([{ type: 'text', text: 'Who am I?' }]),
  ]
  expect((await chat(history, {}, { [HEADER]: id })).id).toBe(id)
  const [message] = (await server.events(id)).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user')
  expect(message.llm_message.content.map(({ text }: Json) => text).join('\n')).toMatch(
    /user: I am Ada\.[^]*assistant: Hello Ada\.[^]*Who am I\?/,
  )
})

test('a completion stream is one chunk and the end marker', async () => {
  const streamed = await chat([user('Hello.')], { stream: true })
  expect(streamed.headers.get('content-type')).toContain('text/event-stream')
  const [chunk, end, rest] = streamed.text.split('\n\n')
  expect(JSON.parse(chunk!.replace('data: ', ''))).toMatchObject({
    object: 'chat.completion.chunk',
    choices: [{ delta: { role: 'assistant', content: 'Hello back.' }, finish_reason: 'stop' }],
  })
  expect([end, rest, streamed.id]).toEqual(['data: [DONE]', '', expect.any(String)])
})

describe('completions that fail', () => {
  test.each<[string, Json[], Json, Record<string, string>, number]>([
    ['an unknown model', [user('x')], { model: 'gpt-5' }, {}, 404],
    ['an unknown profile', [user('x')], { model: 'openhands_absent' }, {}, 404],
    ['no messages', [], {}, {}, 422],
    ['nothing said', [{ role: 'system', content: 'x' }], {}, {}, 400],
    ['the agent spoke last', [user('x'), { role: 'assistant', content: 'y' }], {}, {}, 400],
    ['a part of another kind', [user([{ type: 'input_audio' }])], {}, {}, 400],
    ['a header that is no id', [user('x')], {}, { [HEADER]: 'xx' }, 400],
  ])('%s', async (_, messages, members, headers, status) => {
    expect((await chat(messages, members, headers)).status).toBe(status)
  })

  test('a completion whose run fails returns 500 and names the conversation', async () => {
    answer = { status: 400, error: 'no' }
    const failed = await chat([user('x')])
    expect(failed).toMatchObject({
      status: 500,
      id: expect.any(String),
      body: { detail: 'Internal Server Error', exception: expect.stringContaining('status error') },
    })
  })

  test('a completion returns 409 while an action waits for a person', async () => {
    answer = command('echo one')
    const id = await server.open({ confirmation_policy: { kind: 'AlwaysConfirm' } })
    expect((await chat([user('x')], {}, { [HEADER]: id })).status).toBe(409)
    expect((await chat([user('y')], {}, { [HEADER]: id })).status).toBe(409)
    const said = (await server.events(id)).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user')
    expect(said).toHaveLength(1)
  })

  test('a completion whose run is paused returns 409', async () => {
    answer = new Promise<never>(() => {})
    const id = await server.open()
    const waiting = chat([user('x')], {}, { [HEADER]: id })
    await server.reaches(id, 'running')
    await server.post(id, '/interrupt')
    expect((await waiting).status).toBe(409)
  })
})
