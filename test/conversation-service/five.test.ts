/** The five endpoints of the interface document: paths, keys, answers, ids, New Conversation in both APIs. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { serve, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'
import { run, serveAnn, userTexts } from '../../packages/server/testing/conversation-starts.ts'

const DASHED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const WAIT = { headers: { prefer: 'wait=20' } }

let dir: TempDir
let serving: Serving
/** Answers every request with the same text. */
let model: ScriptedModel
const llm = () => ({
  model: 'openai/scripted',
  base_url: `${model.url}/v1`,
  api_key: canary('llm_key'),
  num_retries: 0,
})
const workspace = () => ({ working_dir: dir.file('work') })

beforeAll(async () => {
  dir = await tempDir()
  model = await startScriptedModel({ respond: async () => ({ text: 'Here I am.' }) })
  serving = await serve(dir.file('data'))
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})
const call: Serving['call'] = (...asked) => serving.call(...asked)

const info = () => ({
  id: randomUUID(),
  workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
  agent: { kind: 'Agent', llm: { model: 'some/model' } },
})
/** Method, path and a valid body. */
const FIVE: [string, string, () => unknown][] = [
  ['POST', '/api/conversations', () => ({})],
  ['POST', '/api/settings', () => ({ language: 'de' })],
  ['POST', '/api/secrets', () => ({ name: `NAME_${randomUUID().slice(0, 8)}`, value: 'a value' })],
  ['PUT', '/api/secrets/KEPT', () => ({ name: 'KEPT' })],
  ['POST', '/api/v1/webhooks/conversations', info],
]

describe('the five endpoints', () => {
  verifies(
    [
      'seed.auth.header',
      'seed.auth.new-conversation',
      'seed.endpoint.new-conversation.route',
      'seed.endpoint.new-conversation.auth',
      'seed.endpoint.json',
      'seed.endpoint.base',
      'design.auth.401',
    ],
    'is below one base address, takes its key from X-Session-API-Key, and speaks JSON',
    async () => {
      await call('POST', '/api/secrets', { name: 'KEPT', value: 'a value' })
      for (const [method, path, body] of FIVE) {
        const taken = await call(method, path, body())
        expect([path, taken.status < 300]).toEqual([path, true])
        expect(taken.headers.get('content-type')).toBe('application/json')
        for (const headers of [
          {},
          { 'x-session-api-key': '' },
          { 'x-session-api-key': `${TEST_KEY}x` },
          { 'x-session-api-key': TEST_KEY.slice(1) },
          { authorization: `Bearer ${TEST_KEY}` },
          { cookie: `x-session-api-key=${TEST_KEY}` },
        ] as Record<string, string>[]) {
          const refused = await call(method, path, body(), { key: null, headers })
          expect([path, headers, refused.status, refused.json]).toEqual([
            path,
            headers,
            401,
            { detail: 'Unauthorized' },
          ])
          expect(refused.headers.get('content-type')).toBe('application/json')
        }
        expect((await call(method, `${path}?session_api_key=${TEST_KEY}`, body(), { key: null })).status).toBe(401)
      }
    },
  )

  verifies(
    'design.auth.before-body',
    'each of the five endpoints checks the key before the body and reads no body of a refused request',
    async () => {
      for (const [method, path] of FIVE) {
        for (const body of ['{"a":', 'null', '[', JSON.stringify({ x: 'y'.repeat(40 * 1024 * 1024) })]) {
          const refused = await call(method, path, body, { key: 'wrong' }).catch((error: unknown) => error as Error)
          // The connection may be closed before 40 MB are sent; an answer must be 401.
          if (!(refused instanceof Error)) expect([path, refused.status]).toEqual([path, 401])
          else expect(body.length).toBeGreaterThan(1_000_000)
        }
        expect((await call(method, path, '{"a":')).status).toBe(422)
      }
    },
  )

  verifies(
    ['seed.errors.declared-new-conversation', 'seed.versioning.other-paths'],
    'each of the five endpoints is documented with 422, and only the webhook has a version in its path',
    async () => {
      const { json } = await call('GET', '/openapi.json', undefined, { key: null })
      for (const [method, path] of FIVE) {
        const operation = json.paths[path.replace('KEPT', '{secret_id}')][method.toLowerCase()]
        const { schema } = operation.responses['422'].content['application/json']
        expect(schema).toEqual({ $ref: '#/components/schemas/HTTPValidationError' })
        expect(/\/v\d+\//.test(path)).toBe(path.includes('webhooks'))
      }
    },
  )
})

describe('New Conversation', () => {
  verifies(
    [
      'seed.service.create-optional',
      'seed.endpoint.new-conversation.ok.200',
      'seed.endpoint.new-conversation.ok.status',
      'seed.endpoint.new-conversation.ok.conversation_id',
      'seed.endpoint.new-conversation.ok.message',
      'seed.endpoint.new-conversation.ok.conversation_status',
      'design.ids.dashed',
    ],
    'answers 200 with its four members, whatever is left out',
    async () => {
      for (const body of [
        {},
        { initial_user_msg: null, repository: null },
        { conversation_instructions: 'Be brief.' },
      ]) {
        const { status, json } = await call('POST', '/api/conversations', body)
        expect(status).toBe(200)
        expect(json).toEqual({
          status: 'ok',
          conversation_id: expect.stringMatching(DASHED),
          message: null,
          conversation_status: 'STARTING',
        })
        expect((await call('GET', `/api/conversations/${json.conversation_id}`)).json.id).toBe(json.conversation_id)
      }
    },
  )

  verifies(
    [
      'seed.endpoint.new-conversation.conversation_id',
      'seed.endpoint.new-conversation.conversation_id.used',
      'design.ids.accepted',
      'design.ids.dashed',
    ],
    'takes an id in every spelling, and says it dashed and in lower case',
    async () => {
      const spell = [
        (id: string) => id,
        (id: string) => id.toUpperCase(),
        (id: string) => id.replaceAll('-', ''),
        (id: string) => id.replaceAll('-', '').toUpperCase(),
      ]
      for (const of of spell) {
        const id = randomUUID()
        const { json } = await call('POST', '/api/conversations', { conversation_id: of(id) }, WAIT)
        expect(json.conversation_id).toBe(id)
        for (const asked of spell)
          expect((await call('GET', `/api/conversations/${asked(id)}`)).json).toMatchObject({ id })
      }
      expect((await call('POST', '/api/conversations', { conversation_id: '' })).json.conversation_id).toMatch(DASHED)
    },
  )

  verifies(
    ['design.ids.same-request', 'design.ids.other-request'],
    'New Conversation with a repeated id starts once, and another body or owner under the id is refused',
    async () => {
      const conversation_id = randomUUID()
      const body = { conversation_id, conversation_instructions: 'Be brief.' }
      const count = async () => (await call('GET', '/api/conversations/count')).text
      expect((await call('POST', '/api/conversations', body, WAIT)).status).toBe(200)
      const [before, events] = [await count(), await call('GET', `/api/conversations/${conversation_id}/events/search`)]
      const again = await Promise.all([1, 2, 3].map(() => call('POST', '/api/conversations', body)))
      for (const { status, json } of again) expect([status, json.conversation_id]).toEqual([200, conversation_id])
      for (const [other, key] of [
        [{ ...body, conversation_instructions: 'Be long.' }, TEST_KEY],
        [{ conversation_id }, TEST_KEY],
        [body, serving.keys.ann],
      ] as const) {
        const { status, json } = await call('POST', '/api/conversations', other, { key })
        expect([status, typeof json.detail]).toEqual([409, 'string'])
      }
      expect(await count()).toBe(before)
      expect((await call('GET', `/api/conversations/${conversation_id}/events/search`)).text).toBe(events.text)
    },
  )

  verifies(
    'design.start.two-dialects',
    'New Conversation answers a body of the agent-server API in the form of that API',
    async () => {
      const agent = { kind: 'Agent', llm: llm(), tools: [] }
      const body = { workspace: workspace(), agent, conversation_id: randomUUID() }
      const { status, json } = await call('POST', '/api/conversations', body)
      expect(status).toBe(201)
      expect(json).toMatchObject({
        id: expect.stringMatching(DASHED),
        agent: { kind: 'Agent' },
        execution_status: 'idle',
      })
      const again = await call('POST', '/api/conversations', body)
      expect([again.status, again.json.id]).toEqual([200, json.id])
      for (const mark of ['workspace', 'agent', 'agent_settings', 'agent_profile_id']) {
        const refused = await call('POST', '/api/conversations', { [mark]: 7 })
        expect(refused.json.detail.some(({ loc }: Loose) => loc[1] === mark)).toBe(true)
        expect(refused.json.detail.filter(({ type }: Loose) => type === 'extra_forbidden')).toEqual([])
      }
    },
  )
})

describe('the model of a conversation', () => {
  verifies(
    ['design.start.no-model', 'design.start.no-model-recovers', 'design.start.local-model'],
    'a conversation may start without a model: its run says how to set one and then works, without a key for a local model',
    async () => {
      const key = serving.keys.bob
      const as = (method: string, path: string, body?: unknown) => call(method, path, body, { key, ...WAIT })
      const { status, json } = await as('POST', '/api/conversations', { initial_user_msg: 'Hello' })
      expect(status).toBe(200)
      const at = `/api/conversations/${json.conversation_id}`
      const search = async () => (await as('GET', `${at}/events/search?limit=100`)).json.items as Loose[]
      const [error] = (await search()).filter(({ kind }) => kind === 'ConversationErrorEvent')
      expect(`${error.code} ${error.detail}`).toMatch(/model/i)
      expect(error.detail).toMatch(/llm_model|POST \/api\/settings/)
      const { model: llm_model, base_url: llm_base_url } = llm()
      expect((await as('POST', '/api/settings', { llm_model, llm_base_url })).status).toBe(200)
      await as('POST', `${at}/events`, { content: [{ type: 'text', text: 'Again' }], run: true })
      expect((await as('GET', `${at}/agent_final_response`)).json).toEqual({ response: 'Here I am.' })
      expect(userTexts(await search())).toEqual(['Hello', 'Again'])
    },
  )

  verifies('design.message.wait', 'a message with Prefer: wait is answered when its run has ended', async () => {
    const agent = { kind: 'Agent', llm: llm(), tools: [] }
    const { json } = await call('POST', '/api/conversations', { workspace: workspace(), agent })
    const at = `/api/conversations/${json.id}`
    const body = { content: [{ type: 'text', text: 'Hello' }], run: true }
    const sent = await call('POST', `${at}/events`, body, WAIT)
    expect([sent.status, sent.headers.get('preference-applied')]).toEqual([200, 'wait=20'])
    expect((await call('GET', at)).json.execution_status).toBe('finished')
    const from = performance.now()
    await call('POST', `${at}/events`, { ...body, run: false }, { headers: { prefer: 'wait=20' } })
    expect(performance.now() - from).toBeLessThan(10_000)
  })
})

describe('notifications of a conversation', () => {
  verifies(
    ['seed.events.log-entries', 'seed.events.referenced-by-id', 'seed.limits.max_iterations'],
    'a conversation log has actions and messages, refers to them by id, and ends a run at max_iterations',
    async () => {
      await using endless = await startScriptedModel({ respond: async () => run('true') })
      await using place = await tempDir()
      await using ann = await serveAnn(place.file('data'), { model: endless })
      await ann.settings({ max_iterations: 3 })
      const { conversation_id } = await ann.begin({ initial_user_msg: 'Go on for ever.' })
      const events = await ann.events(conversation_id)
      const actions = events.filter(({ kind }) => kind === 'ActionEvent')
      expect(actions).toHaveLength(3)
      expect((await ann.info(conversation_id)).execution_status).toBe('error')
      expect(userTexts(events)).toEqual(['Go on for ever.'])
      const { leaf_event_id, last_user_message_id } = await ann.info(conversation_id)
      for (const id of [leaf_event_id, last_user_message_id, actions[0].id]) {
        const { json } = await ann.call('GET', `/api/conversations/${conversation_id}/events/${id}`)
        expect([json.id, json.kind]).toEqual([id, events.find((event) => event.id === id)?.kind])
      }
      const { json: found } = await ann.call(
        'GET',
        `/api/conversations/${conversation_id}/events/${last_user_message_id}`,
      )
      expect(found.kind).toBe('MessageEvent')
    },
  )

  verifies(
    ['seed.auth.vendor-key-write-only', 'seed.auth.acp_resume_session_id-redacted'],
    'notifications never contain the key of an analyzer or the session of an ACP agent',
    async () => {
      const security_analyzer = { kind: 'VendorAnalyzer', api_key: 'the-key-of-the-vendor' }
      const agent = { kind: 'Agent', llm: llm(), tools: [] }
      const started = await call('POST', '/api/conversations', { workspace: workspace(), agent, security_analyzer })
      const told = {
        ...info(),
        security_analyzer,
        agent: { kind: 'ACPAgent', acp_command: ['x'], acp_resume_session_id: 'the-session-to-resume' },
      }
      expect((await call('POST', '/api/v1/webhooks/conversations', told)).status).toBe(200)
      for (const id of [started.json.id, told.id]) {
        const shown = await call('GET', `/api/conversations/${id}`)
        expect(shown.json.security_analyzer.kind).toBe('VendorAnalyzer')
        expect(shown.text).not.toMatch(/the-key-of-the-vendor|the-session-to-resume/)
        expect((await call('GET', `/api/conversations?ids=${id}`)).text).not.toMatch(/the-key-of|the-session-to/)
      }
      expect(started.text).not.toContain('the-key-of-the-vendor')
    },
  )
})
