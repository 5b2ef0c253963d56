import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { verifies } from '../verifies.ts'

let edge: KeyedServer
beforeAll(async () => {
  edge = await startKeyedServer({ respond: async () => ({ text: 'Hello.' }) })
})
afterAll(() => edge[Symbol.asyncDispose]())

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const unknown = () => `/api/conversations/${randomUUID()}`

describe('POST /api/conversations', () => {
  test('POST /api/conversations answers a body of the conversation service API with its four members', async () => {
    const { status, json } = await edge.call('POST', '/api/conversations', {})
    expect([status, json]).toEqual([
      200,
      { status: 'ok', conversation_id: expect.stringMatching(UUID), message: null, conversation_status: 'STARTING' },
    ])
  })

  test('POST /api/conversations answers a body of the agent-server API with 201 and the whole record, nulls included', async () => {
    const { status, json } = await edge.call('POST', '/api/conversations', {
      workspace: { type: 'local', working_dir: '/var/tmp' },
      agent: edge.agent,
    })
    expect(status).toBe(201)
    expect(json).toMatchObject({
      execution_status: 'idle',
      workspace: { working_dir: '/var/tmp', kind: 'LocalWorkspace' },
      title: null,
      metrics: null,
    })
    expect(json.created_at).toMatch(/Z$/)
    expect(JSON.stringify(json)).not.toContain('"api_key":"k"')
  })

  test.each(['worktree', 'file_checkpoints'])(
    'a start on another agent server with %s is answered 501, and creates nothing',
    async (member) => {
      const id = randomUUID()
      const { status, json } = await edge.call('POST', '/api/conversations', {
        conversation_id: id,
        workspace: { kind: 'RemoteWorkspace', working_dir: '/w', host: 'http://127.0.0.1:9' },
        agent: edge.agent,
        [member]: true,
      })
      expect([status, json]).toMatchObject([501, { member }])
      expect(json.detail).toContain(member)
      expect((await edge.call('GET', `/api/conversations/${id}`)).status).toBe(404)
    },
  )

  test('an identical retry of a creation finds the conversation; another body under the same id does not', async () => {
    const id = randomUUID()
    const body = { conversation_id: id, conversation_instructions: 'be brief' }
    expect((await edge.call('POST', '/api/conversations', body)).json.conversation_id).toBe(id)
    const again = await edge.call('POST', '/api/conversations', {
      ...body,
      conversation_id: id.toUpperCase().replaceAll('-', ''),
    })
    expect([again.status, again.json.conversation_id]).toEqual([200, id])
    expect((await edge.call('POST', '/api/conversations', { conversation_id: id })).status).toBe(409)
    const theirs = await edge.call('POST', '/api/conversations', body, { key: KEYS.bob })
    expect(theirs.status).toBe(409)
  })

  test.each<[string, unknown, Record<string, unknown>]>([
    ['an unknown member', { foo: 1 }, { type: 'extra_forbidden', loc: ['body', 'foo'], input: 1 }],
    ['an unknown provider', { git_provider: 'svn' }, { type: 'enum', loc: ['body', 'git_provider'] }],
    [
      'an image that is no text',
      { image_urls: ['ok', 7] },
      { type: 'string_type', loc: ['body', 'image_urls', 1], input: 7 },
    ],
    [
      'a task that is no object',
      { suggested_task: 'x' },
      { type: 'model_attributes_type', loc: ['body', 'suggested_task'] },
    ],
    [
      'a broken number',
      {
        suggested_task: {
          git_provider: 'github',
          task_type: 'OPEN_ISSUE',
          repo: 'a/b',
          issue_number: '5.5',
          title: 't',
        },
      },
      { type: 'int_parsing', loc: ['body', 'suggested_task', 'issue_number'] },
    ],
    [
      'a blank server address',
      { mcp_config: { sse_servers: [{ url: '' }] } },
      { type: 'value_error', loc: ['body', 'mcp_config', 'sse_servers', 0, 'url'], ctx: { error: {} } },
    ],
    [
      'an unknown kind of server',
      { mcp_config: { x: 1 } },
      { type: 'extra_forbidden', loc: ['body', 'mcp_config', 'x'] },
    ],
    ['an id that is null', { conversation_id: null }, { loc: ['body', 'conversation_id'] }],
    ['no workspace', { agent: { kind: 'Agent' } }, { type: 'missing', loc: ['body', 'workspace'] }],
    [
      'a remote workspace',
      { workspace: { kind: 'RemoteWorkspace', working_dir: '/', host: 'h' } },
      { type: 'assertion_error', loc: ['body', 'workspace'] },
    ],
    ['no agent at all', { workspace: { working_dir: '/var/tmp' } }, { type: 'value_error', loc: ['body'] }],
    [
      'an unknown kind of agent',
      { workspace: { working_dir: '/var/tmp' }, agent: { kind: 'X' } },
      { type: 'value_error', loc: ['body', 'agent'] },
    ],
    [
      'a bad tag',
      { workspace: { working_dir: '/var/tmp' }, agent_settings: {}, tags: { Bad: 'x' } },
      { type: 'value_error', loc: ['body', 'tags'] },
    ],
    [
      'no iterations',
      { workspace: { working_dir: '/var/tmp' }, agent_settings: {}, max_iterations: 0 },
      { type: 'greater_than_equal', loc: ['body', 'max_iterations'], ctx: { ge: 1 } },
    ],
    [
      'a message that nobody may send',
      { workspace: { working_dir: '/var/tmp' }, agent_settings: {}, initial_message: { role: 'system' } },
      { type: 'value_error', loc: ['body', 'initial_message', 'role'] },
    ],
    ['an array', [], { type: 'model_attributes_type', loc: ['body'] }],
    ['broken JSON', '{"a":', { type: 'json_invalid', loc: ['body', 5], input: {}, ctx: { error: 'Expecting value' } }],
  ])('a creation with %s is refused, naming the member', async (_, body, expected) => {
    const { status, json } = await edge.call('POST', '/api/conversations', body)
    expect(status).toBe(422)
    expect(json.detail[0]).toMatchObject(expected)
  })

  test('a creation without a body is refused as a missing body', async () => {
    const { status, json } = await edge.call('POST', '/api/conversations')
    expect([status, json.detail]).toEqual([
      422,
      [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
    ])
  })

  test('a refused creation lists all failures, query before body', async () => {
    const { json } = await edge.call('POST', '/api/conversations?include_skills=maybe', { foo: 1, initial_user_msg: 5 })
    expect(json.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual([
      'query.include_skills',
      'body.initial_user_msg',
      'body.foo',
    ])
  })

  test('a creation with Prefer: wait returns the finished conversation', async () => {
    const { status, json, headers } = await edge.call(
      'POST',
      '/api/conversations',
      {
        workspace: { working_dir: '/var/tmp' },
        agent: edge.agent,
        initial_message: { content: [{ type: 'text', text: 'hi' }] },
      },
      { headers: { prefer: 'wait=15' } },
    )
    expect([status, json.execution_status, headers.get('preference-applied')]).toEqual([201, 'finished', 'wait=15'])
    const { json: last } = await edge.call('GET', `/api/conversations/${json.id}/agent_final_response`)
    expect(last).toEqual({ response: 'Hello.' })
  })
})

describe('finding conversations', () => {
  test('a conversation is found by its id, with or without dashes', async () => {
    const { id } = await edge.start()
    for (const spelling of [id, id.replaceAll('-', ''), id.toUpperCase()])
      expect((await edge.call('GET', `/api/conversations/${spelling}`)).json.id).toBe(id)
  })

  test('conversations are returned by id in the requested order, with null for unknown ones and for those of other users', async () => {
    const [a, b] = [await edge.start(), await edge.start()]
    const nobody = randomUUID()
    const path = `/api/conversations?ids=${b.id}&ids=${nobody}&ids=${a.id}`
    expect((await edge.call('GET', path)).json.map((info: Loose) => info?.id ?? null)).toEqual([b.id, null, a.id])
    expect((await edge.call('GET', path, undefined, { key: KEYS.bob })).json).toEqual([null, null, null])
    expect((await edge.call('GET', `/api/conversations?ids=${a.id}`)).json).toHaveLength(1)
    expect((await edge.call('GET', '/api/conversations?ids=')).json.detail[0]).toMatchObject({
      type: 'uuid_parsing',
      loc: ['query', 'ids', 0],
    })
    const many = Array.from({ length: 100 }, () => `ids=${nobody}`).join('&')
    expect((await edge.call('GET', `/api/conversations?${many}`)).status).toBe(400)
  })

  test('pages of conversations contain each one once, newest first', async () => {
    const key = KEYS.bob
    const made: string[] = []
    for (let i = 0; i < 5; i++)
      made.push((await edge.call('POST', '/api/conversations', {}, { key })).json.conversation_id)
    const found: string[] = []
    let page = ''
    do {
      const { json } = await edge.call('GET', `/api/conversations/search?limit=2${page}`, undefined, { key })
      found.push(...json.items.map(({ id }: { id: string }) => id))
      if (json.next_page_id !== null) expect(json.next_page_id).toMatch(/^[0-9a-f]{32}$/)
      page = json.next_page_id === null ? '' : `&page_id=${json.next_page_id}`
    } while (page !== '')
    expect(found).toEqual(made.toReversed())
    expect((await edge.call('GET', '/api/conversations/count', undefined, { key })).text).toBe('5')
    expect((await edge.call('GET', '/api/conversations/count?status=stuck', undefined, { key })).text).toBe('0')
    expect(
      (await edge.call('GET', '/api/conversations/search?page_id=nonsense', undefined, { key })).json.items,
    ).toHaveLength(5)
  })

  test.each([
    ['limit=0', 'greater_than'],
    ['limit=101', 'less_than_equal'],
    ['limit=x', 'int_parsing'],
    ['status=asleep', 'enum'],
    ['sort_order=NAME', 'enum'],
  ])('a search with ?%s is refused', async (query, type) => {
    const { status, json } = await edge.call('GET', `/api/conversations/search?${query}`)
    expect([status, json.detail[0].type, json.detail[0].loc[0]]).toEqual([422, type, 'query'])
  })

  test('skills of a conversation are omitted unless the request asks for them', async () => {
    const skill = { name: 'deploy', content: 'how to deploy', trigger: null }
    const { id } = await edge.start({ agent: { ...edge.agent, agent_context: { skills: [skill] } } })
    expect((await edge.call('GET', `/api/conversations/${id}`)).json.agent.agent_context.skills).toEqual([])
    const { json } = await edge.call('GET', `/api/conversations/${id}?include_skills=true`)
    expect(json.agent.agent_context.skills).toMatchObject([{ name: 'deploy' }])
  })
})

describe('changing conversations', () => {
  test('title and tags of a conversation can be changed', async () => {
    const { id } = await edge.start()
    expect(
      (await edge.call('PATCH', `/api/conversations/${id}`, { title: ' A title ', tags: { team: 'x' } })).text,
    ).toBe('{"success":true}')
    expect((await edge.call('GET', `/api/conversations/${id}`)).json).toMatchObject({
      title: 'A title',
      tags: { team: 'x' },
    })
    expect((await edge.call('PATCH', `/api/conversations/${id}`, { title: '' })).json.detail[0].type).toBe(
      'string_too_short',
    )
    // The limit applies to the sent length; the stored title is trimmed, which removes this one.
    expect((await edge.call('PATCH', `/api/conversations/${id}`, { title: '  ' })).status).toBe(200)
    expect((await edge.call('GET', `/api/conversations/${id}`)).json.title).toBeNull()
  })

  test('confirmation policy and security analyzer of a conversation can be replaced', async () => {
    const { id } = await edge.start()
    await edge.call('POST', `/api/conversations/${id}/confirmation_policy`, { policy: { kind: 'AlwaysConfirm' } })
    await edge.call('POST', `/api/conversations/${id}/security_analyzer`, {
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    })
    expect((await edge.call('GET', `/api/conversations/${id}`)).json).toMatchObject({
      confirmation_policy: { kind: 'AlwaysConfirm' },
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    })
    expect((await edge.call('POST', `/api/conversations/${id}/security_analyzer`, {})).json.detail[0]).toMatchObject({
      type: 'missing',
    })
    expect(
      (await edge.call('POST', `/api/conversations/${id}/security_analyzer`, { security_analyzer: null })).status,
    ).toBe(200)
  })

  verifies(
    ['design.ids.deleted'],
    'the id of a deleted conversation can be used again by the same user, and is answered with 409 to another user',
    async () => {
      const { id } = await edge.start()
      const remove = () => edge.call('DELETE', `/api/conversations/${id}`)
      expect((await remove()).status).toBe(200)
      const body = { conversation_id: id }
      expect((await edge.call('POST', '/api/conversations', body, { key: KEYS.bob })).status).toBe(409)
      expect((await edge.call('GET', `/api/conversations/${id}`, undefined, { key: KEYS.bob })).status).toBe(404)
      expect((await edge.start({ conversation_id: id })).id).toBe(id)
      await remove()
      const again = await edge.call('POST', '/api/conversations', body)
      expect([again.status, again.json.conversation_id]).toEqual([200, id])
    },
  )

  test('a deleted conversation does not exist any more', async () => {
    const { id } = await edge.start()
    expect((await edge.call('DELETE', `/api/conversations/${id}`)).json).toMatchObject({ success: true })
    expect((await edge.call('GET', `/api/conversations/${id}`)).status).toBe(404)
  })

  test('routes without a body ignore every body', async () => {
    const { id } = await edge.start()
    for (const [body, type] of [
      ['{"a":', 'application/json'],
      ['x', 'text/plain'],
      [undefined, 'application/json'],
    ] as const)
      expect(
        (await edge.call('POST', `/api/conversations/${id}/pause`, body, { headers: { 'content-type': type } })).text,
      ).toBe('{"success":true}')
  })

  test('a fork creates a conversation with or without a body; navigate needs a body', async () => {
    const { id } = await edge.start()
    await edge.say(id, 'one')
    const fork = await edge.call('POST', `/api/conversations/${id}/fork`)
    expect([fork.status, fork.json.forked_from_conversation_id]).toEqual([201, id])
    const moved = await edge.call('POST', `/api/conversations/${id}/navigate`, {})
    expect([moved.status, moved.json.leaf_event_id]).toEqual([200, null])
    expect((await edge.call('POST', `/api/conversations/${id}/navigate`)).status).toBe(422)
    expect((await edge.call('POST', `/api/conversations/${id}/navigate`, { event_id: randomUUID() })).status).toBe(404)
  })
})

describe('unknown conversations', () => {
  const policy = { policy: { kind: 'NeverConfirm' } }
  test.each<[string, string, unknown, number, string]>([
    ['GET', '', undefined, 404, '{"detail":"Not Found"}'],
    ['PATCH', '', { title: 'x' }, 200, '{"success":false}'],
    ['DELETE', '', undefined, 400, '{"detail":"Bad Request"}'],
    ['POST', '/run', undefined, 404, '{"detail":"Not Found"}'],
    ['POST', '/pause', undefined, 400, '{"detail":"Bad Request"}'],
    ['POST', '/interrupt', undefined, 400, '{"detail":"Bad Request"}'],
    ['POST', '/confirmation_policy', policy, 404, '{"detail":"Not Found"}'],
    ['POST', '/security_analyzer', { security_analyzer: null }, 404, '{"detail":"Not Found"}'],
    ['GET', '/agent_final_response', undefined, 404, '{"detail":"Not Found"}'],
    ['POST', '/fork', undefined, 404, '{"detail":"Source conversation not found"}'],
    ['POST', '/navigate', { event_id: null }, 404, '{"detail":"Conversation not found"}'],
  ])('%s %s has its own answer for an unknown conversation', async (method, path, body, status, text) => {
    const answer = await edge.call(method, unknown() + path, body)
    expect([answer.status, answer.text]).toEqual([status, text])
  })

  test('a conversation of another user is answered like an unknown one', async () => {
    const { id } = await edge.start()
    const answer = await edge.call('DELETE', `/api/conversations/${id}`, undefined, { key: KEYS.bob })
    expect([answer.status, answer.text]).toEqual([400, '{"detail":"Bad Request"}'])
    expect((await edge.call('GET', `/api/conversations/${id}`)).status).toBe(200)
  })

  test('an invalid conversation id is refused with 422 before the body is checked', async () => {
    const { status, json } = await edge.call('POST', '/api/conversations/xx/navigate', '{')
    expect(status).toBe(422)
    expect(json.detail).toMatchObject([
      {
        type: 'uuid_parsing',
        loc: ['path', 'conversation_id'],
        input: 'xx',
        ctx: { error: 'invalid character: found `x` at 1' },
      },
      { type: 'json_invalid', loc: ['body', 1] },
    ])
  })
})

describe('runs', () => {
  test('a second run of a running conversation is refused with 409', async () => {
    await using slow = await startKeyedServer({ respond: () => new Promise(() => {}) })
    const { id } = await slow.start()
    expect((await slow.say(id, 'go', true)).status).toBe(200)
    const { status, json } = await slow.call('POST', `/api/conversations/${id}/run`)
    expect([status, json.detail]).toEqual([409, 'Conversation already running. Wait for completion or pause first.'])
    expect((await slow.call('POST', `/api/conversations/${id}/interrupt`)).text).toBe('{"success":true}')
    expect((await slow.call('GET', `/api/conversations/${id}`)).json.execution_status).toBe('paused')
  })
})
