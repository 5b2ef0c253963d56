import { randomUUID } from 'node:crypto'
import { newEventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { serve, storeOf, type Serving } from '../../packages/server/testing/multi-user-server.ts'
import { verifies } from '../verifies.ts'
import { FINISH, startConversation, startRequest, type Loose } from '../../packages/server/testing/webhook-servers.ts'
import { refuseWrites } from '../../packages/server/testing/chosen-store.ts'

const PATH = '/api/v1/webhooks/conversations'

/** A ConversationInfo with the required members, as another server may send it. */
const payload = (members: Record<string, unknown> = {}): Loose => ({
  id: randomUUID(),
  workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
  agent: { kind: 'Agent', llm: { model: 'some/model', usage_id: 'agent' } },
  created_at: '2026-03-01T10:00:00Z',
  updated_at: '2026-03-01T10:00:00Z',
  ...members,
})
const acp = { kind: 'ACPAgent', acp_command: ['some-agent', '--acp'] }
const event = (members: Record<string, unknown> = {}): Loose => ({
  kind: 'PauseEvent',
  id: newEventId(),
  timestamp: '2026-03-01T10:00:00.000000',
  source: 'user',
  parent_id: null,
  ...members,
})

const send = ({ call }: Serving, body: unknown, key?: string) =>
  call('POST', PATH, body, key === undefined ? {} : { key })
const read = ({ call }: Serving, id: string, key?: string) =>
  call('GET', `/api/conversations/${id}?include_skills=true`, undefined, key === undefined ? {} : { key })

verifies(
  [
    'seed.endpoint.webhook.route',
    'seed.endpoint.webhook.purpose',
    'seed.endpoint.webhook.body',
    'seed.endpoint.webhook.agent-native',
    'seed.endpoint.webhook.agent-acp',
    'seed.endpoint.webhook.ok',
    'seed.events.webhook-answer',
    'seed.versioning.webhook-path',
    'design.webhook.receive.upsert',
  ],
  'a received conversation is stored, replaced by a newer update, unchanged by an older one, and removed by a deletion',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    for (const agent of [payload().agent, acp]) {
      const first = payload({ agent, title: 'First', tags: { team: 'blue' }, a_member_of_a_newer_version: 1 })
      const answer = await send(serving, first)
      expect(answer).toMatchObject({ status: 200, json: { success: true } })
      const { json: shown } = await read(serving, first.id)
      expect(shown).toMatchObject({ id: first.id, title: 'First', tags: { team: 'blue' }, execution_status: 'idle' })
      expect(shown.agent).toMatchObject(agent)
      expect(shown).not.toHaveProperty('a_member_of_a_newer_version')

      const update = {
        ...first,
        title: 'Second',
        execution_status: 'running',
        updated_at: '2026-03-01T10:00:05.123456Z',
      }
      for (const body of [update, update, { ...first, title: 'Old', updated_at: '2026-03-01T10:00:01Z' }])
        expect((await send(serving, body)).json).toEqual({ success: true })
      expect((await read(serving, first.id)).json).toMatchObject({ title: 'Second', execution_status: 'running' })

      const deletion = { ...update, execution_status: 'deleting', updated_at: '2026-03-01T10:00:06Z' }
      for (const body of [deletion, deletion, update])
        expect((await send(serving, body)).json).toEqual({ success: true })
      expect((await read(serving, first.id)).status).toBe(404)
    }
  },
)

verifies(
  ['seed.auth.webhook', 'seed.endpoint.webhook.auth', 'design.webhook.receive.header'],
  'a received webhook needs a key in X-Session-API-Key or X-Access-Token, which is checked before its body',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const { call, keys } = serving
    const unauthorized = { status: 401, json: { detail: 'Unauthorized' } }
    for (const options of [{ key: null }, { key: 'wrong' }, { key: null, headers: { 'x-access-token': 'wrong' } }]) {
      expect(await call('POST', PATH, '{', options)).toMatchObject(unauthorized)
      expect(await call('POST', `/api/v1/webhooks/events/${randomUUID()}`, '{', options)).toMatchObject(unauthorized)
    }
    const body = payload()
    expect(await call('POST', PATH, body, { key: null, headers: { 'X-Access-Token': keys.ann } })).toMatchObject({
      status: 200,
    })
    expect((await read(serving, body.id, keys.ann)).status).toBe(200)
    expect(
      await call('GET', '/api/conversations/count', undefined, { key: null, headers: { 'x-access-token': keys.ann } }),
    ).toMatchObject(unauthorized)
    expect((await send(serving, payload(), keys.reader)).status).toBe(403)
    const described = (await call('GET', '/openapi.json')).json
    expect(described.paths[PATH].post.security).toEqual([{ APIKeyHeader: [] }])
  },
)

verifies(
  [
    'seed.endpoint.webhook.body-required',
    'seed.endpoint.webhook.invalid',
    'seed.errors.declared-webhook',
    'seed.versioning.webhook-description',
  ],
  'a received body that is not a ConversationInfo returns 422 and changes nothing, as the API description documents',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const { call } = serving
    const missing = await call('POST', PATH)
    expect(missing).toMatchObject({
      status: 422,
      json: { detail: [{ type: 'missing', loc: ['body'], msg: 'Field required' }] },
    })
    expect((await send(serving, {})).json.detail.map(({ loc }: Loose) => loc.join('.'))).toEqual([
      'body.id',
      'body.workspace',
      'body.agent',
    ])
    const bad = payload({
      agent: { kind: 'Other' },
      max_iterations: 0,
      execution_status: 'asleep',
      api_key: 'not-shown',
    })
    const refused = await send(serving, bad)
    expect(refused.status).toBe(422)
    expect(refused.json.detail.map(({ loc }: Loose) => loc.join('.')).toSorted()).toEqual([
      'body.agent',
      'body.execution_status',
      'body.max_iterations',
    ])
    expect(refused.text).not.toContain('not-shown')
    const closed = await send(serving, payload({ hook_config: { stop: [], surprise: [] } }))
    expect(closed).toMatchObject({
      status: 422,
      json: { detail: [{ type: 'extra_forbidden', loc: ['body', 'hook_config', 'surprise'] }] },
    })
    expect((await call('GET', '/api/conversations/count')).json).toBe(0)

    const { json } = await call('GET', '/api/v1/webhooks/openapi.json', undefined, { key: null })
    expect(json.info.version).toBe('0.0.1')
    expect(Object.keys(json.paths)).toContain(PATH)
    const { responses } = json.paths[PATH].post
    expect(responses['422'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/HTTPValidationError',
    })
  },
)

test('received conversations are listed with local ones in one order, by page and status, and only for their user', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using serving = await serve(dir.file('data'))
  const { call, server, keys } = serving
  const own = [
    await startConversation(server, startRequest(dir.file('work'), model)),
    await startConversation(server, startRequest(dir.file('work'), model)),
  ]
  const old = payload({ execution_status: 'paused', created_at: '2020-01-01T00:00:00Z' })
  const young = payload({ execution_status: 'paused', created_at: '2999-01-01T00:00:00Z', agent: acp })
  for (const body of [old, young]) await send(serving, body)
  await send(serving, payload(), keys.ann)
  const newest = [young.id, own[1], own[0], old.id]

  for (const limit of [1, 2, 3, 4, 5]) {
    const seen: string[] = []
    for (let page: string | null = ''; page !== null;) {
      const { json } = await call(
        'GET',
        `/api/conversations/search?limit=${limit}${page === '' ? '' : `&page_id=${page}`}`,
      )
      seen.push(...json.items.map(({ id }: Loose) => id))
      page = json.next_page_id
    }
    expect(seen, `in pages of ${limit}`).toEqual(newest)
  }
  const ascending = (await call('GET', '/api/conversations/search?sort_order=CREATED_AT')).json.items
  expect(ascending.map(({ id }: Loose) => id)).toEqual(newest.toReversed())
  const paused = (await call('GET', '/api/conversations/search?status=paused')).json.items
  expect(paused.map(({ id }: Loose) => id)).toEqual([young.id, old.id])
  expect((await call('GET', '/api/conversations/count')).json).toBe(4)
  expect((await call('GET', '/api/conversations/count?status=paused')).json).toBe(2)
  const several = await call('GET', `/api/conversations?ids=${old.id}&ids=${randomUUID()}&ids=${own[0]}`)
  expect(several.json.map((info: Loose) => info?.id ?? null)).toEqual([old.id, null, own[0]])

  expect((await read(serving, old.id, keys.bob)).status).toBe(404)
  expect((await call('GET', '/api/conversations/count', undefined, { key: keys.ann })).json).toBe(1)
  expect((await call('GET', '/api/conversations/search', undefined, { key: keys.ann })).json.items).toHaveLength(1)
})

test('a command to a received conversation returns 409, and a received update does not change a local conversation', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ respond: () => FINISH })
  await using serving = await serve(dir.file('data'))
  const { call, server, keys } = serving
  const received = payload()
  await send(serving, received)
  const at = `/api/conversations/${received.id}`
  for (const [method, path, body] of [
    ['POST', `${at}/run`],
    ['POST', `${at}/pause`],
    ['POST', `${at}/interrupt`],
    ['POST', `${at}/events`, { role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    ['POST', `${at}/fork`, {}],
    ['PATCH', at, { title: 'Mine' }],
    ['DELETE', at],
  ] as const) {
    const answer = await call(method, path, body)
    expect({ path, status: answer.status }).toEqual({ path, status: 409 })
    expect(answer.json.detail).toBe(
      `Conversation ${received.id} lives on another server, which told this one of it. Ask that server.`,
    )
  }
  expect((await call('POST', `${at}/run`, undefined, { key: keys.bob })).status).toBe(404)

  const local = await startConversation(server, startRequest(dir.file('work'), model))
  for (const status of ['paused', 'deleting'])
    await send(
      serving,
      payload({ id: local, execution_status: status, title: 'Not so', updated_at: '2999-01-01T00:00:00Z' }),
    )
  await call('POST', `/api/v1/webhooks/events/${local}`, [event()])
  expect((await read(serving, local)).json).toMatchObject({ title: null, execution_status: 'idle' })
  // Another user may receive a conversation with the same id, and sees only that one.
  await send(serving, payload({ id: local, title: 'Of ann' }), keys.ann)
  expect((await read(serving, local, keys.ann)).json.title).toBe('Of ann')
  expect((await read(serving, local)).json.title).toBeNull()
})

verifies(
  ['design.webhook.receive.unknown-kinds'],
  'received events are stored once, also before their conversation, and unknown kinds are kept',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const { call } = serving
    const body = payload()
    const to = `/api/v1/webhooks/events/${body.id.replaceAll('-', '')}`
    const update = event({
      kind: 'ConversationStateUpdateEvent',
      key: 'execution_status',
      value: 'running',
      source: 'environment',
    })
    const future = event({ kind: 'FutureEvent', deep: { null: null, list: [1] } })
    const text = { type: 'text', text: 'Find the NEEDLE' }
    const message = event({ kind: 'MessageEvent', llm_message: { role: 'user', content: [text] } })
    expect(await call('POST', to, [update, future])).toMatchObject({ status: 200, json: { success: true } })
    await send(serving, body)
    for (const batch of [[future, message], [message], []])
      expect((await call('POST', to, batch)).json).toEqual({ success: true })

    const at = `/api/conversations/${body.id}/events`
    const { items } = (await call('GET', `${at}/search`)).json
    expect(items.map(({ id }: Loose) => id)).toEqual([update.id, future.id, message.id])
    expect(items[0]).toMatchObject({ kind: 'ConversationStateUpdateEvent', key: 'execution_status', value: 'running' })
    expect(items[1]).toMatchObject({ key: 'unknown_event', value: future })
    expect((await call('GET', `${at}/count`)).json).toBe(3)
    expect((await call('GET', `${at}/search?kind=MessageEvent&body=needle`)).json.items).toHaveLength(1)
    expect((await call('GET', `${at}/search?kind=ConversationStateUpdateEvent`)).json.items).toHaveLength(1)
    expect((await call('GET', `${at}/${future.id}`)).json.value).toEqual(future)
    const page = (await call('GET', `${at}/search?limit=2`)).json
    expect(page.next_page_id).toBe(message.id)

    for (const bad of [{}, [1], [{ kind: 'PauseEvent' }], [event({ id: '' })]])
      expect((await call('POST', to, bad)).status).toBe(422)
    expect((await call('GET', `${at}/count`)).json).toBe(3)
  },
)

verifies(
  ['design.webhook.receive.5xx'],
  'a webhook that cannot be stored returns 5xx and is stored when it is sent again',
  async () => {
    await using dir = await tempDir()
    await using serving = await serve(dir.file('data'))
    const body = payload()
    {
      await using _full = await refuseWrites(dir.file('data'))
      expect((await send(serving, body)).status).toBe(503)
    }
    expect((await send(serving, body)).status).toBe(200)
    expect((await read(serving, body.id)).status).toBe(200)
  },
  30_000,
)

test('secrets in a received conversation are encrypted in the store and never shown', async () => {
  await using dir = await tempDir()
  const body = payload({ agent: { kind: 'Agent', llm: { model: 'm', api_key: 'sk-sent-in-the-clear' } } })
  {
    await using serving = await serve(dir.file('data'))
    await send(serving, body)
    const shown = await read(serving, body.id)
    expect(shown.json.agent.llm.api_key).toBeNull()
    expect(shown.text + serving.server.stderr()).not.toContain('sk-sent-in-the-clear')
  }
  expect(await storeOf(dir.file('data'))).not.toContain('sk-sent-in-the-clear')
})
