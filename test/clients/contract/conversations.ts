/** Conversations. Source: agent-server-wire.md 1.4, 1.5, 5.2, 6.2. */
import { randomUUID } from 'node:crypto'
import {
  type Ask,
  type Case,
  type Cases,
  detail,
  HEX,
  invalid,
  NUMBER,
  type Place,
  SUCCESS,
  TEXT,
  UNKNOWN,
} from './case.ts'
import { INFO } from './info.ts'

/** The directory of the test belongs to no conversation, so it stays. */
const DELETED = { ...SUCCESS, workspace: { path: TEXT, outcome: 'kept', reason: 'not_made', detail: TEXT } }

const at = (id: string, rest = '') => `/api/conversations/${id}${rest}`

/** The answer of an operation for an unknown id; operations differ, and clients depend on it. */
const unknown = (rest: string, status: number, shape: unknown, body?: unknown): Case => ({
  says: 'unknown id',
  status,
  shape,
  ask: () => ({ path: at(UNKNOWN, rest), body }),
})

const bad = (says: string, loc: (string | number)[], body: unknown): Case => ({
  says,
  status: 422,
  shape: invalid('body', ...loc),
  ask: () => ({ body }),
})

const on =
  (state: 'finished' | 'waiting' | 'running', rest: string, body?: unknown) =>
  async (place: Place): Promise<Ask> => ({ path: at((await place[state]()).id, rest), body })

const start =
  (members: Record<string, unknown> = {}) =>
  ({ bench }: Place): Ask => ({
    body: { workspace: { working_dir: bench.workingDir }, agent: bench.agent(), ...members },
  })

const refusedParent = (says: string, members: (place: Place) => object | Promise<object>): Case => ({
  says,
  status: 422,
  shape: invalid('body', 'parent_conversation_id'),
  ask: async (place) => start({ ...(await members(place)) })(place),
})

const lists: Cases = {
  'GET /api/conversations': [
    {
      says: 'in request order, null for an unknown one',
      status: 200,
      shape: [null, INFO],
      ask: async (place) => ({ path: `/api/conversations?ids=${UNKNOWN}&ids=${(await place.idle()).id}` }),
    },
    {
      says: 'an empty id',
      status: 422,
      shape: invalid('query', 'ids', 0),
      ask: () => ({ path: '/api/conversations?ids=' }),
    },
    {
      says: 'an id that is none',
      status: 422,
      shape: invalid('query', 'ids', 0),
      ask: () => ({ path: '/api/conversations?ids=x' }),
    },
    {
      says: 'a hundred ids',
      status: 400,
      shape: detail(),
      ask: () => ({ path: `/api/conversations?${`ids=${UNKNOWN}&`.repeat(100)}` }),
    },
  ],
  'GET /api/conversations/search': [
    {
      says: 'a page, with the hex id of the next',
      status: 200,
      shape: { items: [INFO], next_page_id: HEX },
      ask: async (place) => {
        await place.idle()
        await place.idle()
        return { path: '/api/conversations/search?limit=1' }
      },
    },
    {
      says: 'a limit of 0',
      status: 422,
      shape: invalid('query', 'limit'),
      ask: () => ({ path: '/api/conversations/search?limit=0' }),
    },
    {
      says: 'a limit of 101',
      status: 422,
      shape: invalid('query', 'limit'),
      ask: () => ({ path: '/api/conversations/search?limit=101' }),
    },
    {
      says: 'a status that is none',
      status: 422,
      shape: invalid('query', 'status'),
      ask: () => ({ path: '/api/conversations/search?status=asleep' }),
    },
  ],
  'GET /api/conversations/count': [
    { says: 'a bare number', status: 200, shape: NUMBER },
    {
      says: 'a status that is none',
      status: 422,
      shape: invalid('query', 'status'),
      ask: () => ({ path: '/api/conversations/count?status=asleep' }),
    },
  ],
}

const records: Cases = {
  'POST /api/conversations': [
    { says: 'a new one', status: 201, shape: INFO, ask: start() },
    {
      says: 'an id that is there already',
      status: 200,
      shape: INFO,
      ask: async (place) => {
        const conversation_id = randomUUID()
        const ask = start({ conversation_id })(place)
        await place.call('POST', '/api/conversations', ask.body)
        return ask
      },
    },
    {
      says: 'an id that is there already, with another body',
      status: 200,
      shape: INFO,
      ask: async (place) => {
        const conversation_id = randomUUID()
        await place.call('POST', '/api/conversations', start({ conversation_id })(place).body)
        return start({ conversation_id, max_iterations: 7, agent_settings: null, tags: { other: 'body' } })(place)
      },
    },
    refusedParent('an unknown parent', () => ({ parent_conversation_id: UNKNOWN })),
    refusedParent('its own parent', () => ({ parent_conversation_id: UNKNOWN, conversation_id: UNKNOWN })),
    refusedParent('a parent in another directory', async (place) => ({
      parent_conversation_id: (await place.idle()).id,
      workspace: { working_dir: `${place.bench.workingDir}/else` },
    })),
    bad('no workspace', ['workspace'], { agent: { llm: { model: 'openai/x' } } }),
    {
      says: 'a remote workspace',
      status: 422,
      shape: invalid('body', 'workspace'),
      ask: start({ workspace: { kind: 'RemoteWorkspace', host: 'h', working_dir: '/' } }),
    },
    bad('no agent in any form', [], { workspace: { working_dir: '/tmp' } }),
    { says: 'an agent and a profile', status: 422, shape: invalid('body'), ask: start({ agent_profile_id: UNKNOWN }) },
    {
      says: 'an unknown kind of agent',
      status: 422,
      shape: invalid('body', 'agent'),
      ask: start({ agent: { kind: 'Robot' } }),
    },
    { says: 'a bad tag', status: 422, shape: invalid('body', 'tags'), ask: start({ tags: { 'Not So': 'x' } }) },
    { says: 'no iterations', status: 422, shape: invalid('body', 'max_iterations'), ask: start({ max_iterations: 0 }) },
    {
      says: 'a first message of another role',
      status: 422,
      shape: invalid('body', 'initial_message', 'role'),
      ask: start({ initial_message: { role: 'system' } }),
    },
  ],
  'GET /api/conversations/{id}': [
    { says: 'the record, nulls included', status: 200, shape: INFO },
    {
      says: 'the id in hex',
      status: 200,
      shape: INFO,
      ask: async (place) => ({ path: at((await place.idle()).id.replaceAll('-', '').toUpperCase()) }),
    },
    unknown('', 404, detail('Not Found')),
  ],
  'PATCH /api/conversations/{id}': [
    {
      says: 'a title and tags',
      status: 200,
      shape: SUCCESS,
      ask: () => ({ body: { title: 'Rhubarb', tags: { a: 'b' } } }),
    },
    unknown('', 200, { success: false }, { title: 'Rhubarb' }),
    bad('an empty title', ['title'], { title: '' }),
    bad('a long title', ['title'], { title: 'x'.repeat(201) }),
  ],
  'DELETE /api/conversations/{id}': [
    { says: 'an idle one', status: 200, shape: DELETED },
    { says: 'a running one', status: 200, shape: DELETED, ask: on('running', '') },
    unknown('', 400, detail('Bad Request')),
  ],
}

const actions: Cases = {
  'POST /api/conversations/{id}/run': [
    { says: 'an idle one', status: 200, shape: SUCCESS },
    { says: 'a finished one', status: 200, shape: SUCCESS, ask: on('finished', '/run') },
    { says: 'a waiting one', status: 200, shape: SUCCESS, ask: on('waiting', '/run') },
    { says: 'a body that means nothing', status: 200, shape: SUCCESS, ask: () => ({ body: { any: 'thing' } }) },
    {
      says: 'a running one',
      status: 409,
      shape: detail('Conversation already running. Wait for completion or pause first.'),
      ask: on('running', '/run'),
    },
    unknown('/run', 404, detail('Not Found')),
  ],
  'POST /api/conversations/{id}/pause': [
    { says: 'an idle one', status: 200, shape: SUCCESS },
    { says: 'a finished one', status: 200, shape: SUCCESS, ask: on('finished', '/pause') },
    { says: 'a running one', status: 200, shape: SUCCESS, ask: on('running', '/pause') },
    unknown('/pause', 400, detail('Bad Request')),
  ],
  'POST /api/conversations/{id}/interrupt': [
    { says: 'an idle one', status: 200, shape: SUCCESS },
    { says: 'a running one', status: 200, shape: SUCCESS, ask: on('running', '/interrupt') },
    unknown('/interrupt', 400, detail('Bad Request')),
  ],
  'GET /api/conversations/{id}/agent_final_response': [
    { says: 'an answer', status: 200, shape: { response: 'Done.' }, ask: on('finished', '/agent_final_response') },
    { says: 'none yet', status: 200, shape: { response: '' } },
    unknown('/agent_final_response', 404, detail('Not Found')),
  ],
  'POST /api/conversations/{id}/confirmation_policy': [
    {
      says: 'a policy',
      status: 200,
      shape: SUCCESS,
      ask: () => ({ body: { policy: { kind: 'ConfirmRisky', threshold: 'LOW' } } }),
    },
    bad('no policy', ['policy'], {}),
    bad('an unknown kind', ['policy'], { policy: { kind: 'Sometimes' } }),
    unknown('/confirmation_policy', 404, detail('Not Found'), { policy: { kind: 'NeverConfirm' } }),
  ],
  'POST /api/conversations/{id}/security_analyzer': [
    {
      says: 'an analyzer',
      status: 200,
      shape: SUCCESS,
      ask: () => ({ body: { security_analyzer: { kind: 'PatternSecurityAnalyzer' } } }),
    },
    { says: 'none', status: 200, shape: SUCCESS, ask: () => ({ body: { security_analyzer: null } }) },
    bad('the key is required', ['security_analyzer'], {}),
    unknown('/security_analyzer', 404, detail('Not Found'), { security_analyzer: null }),
  ],
  'POST /api/conversations/{id}/ask_agent': [
    {
      says: 'an answer',
      status: 200,
      shape: { response: TEXT },
      ask: on('finished', '/ask_agent', { question: 'And?' }),
    },
    bad('no question', ['question'], {}),
    unknown('/ask_agent', 404, detail(), { question: 'And?' }),
  ],
  'POST /api/conversations/{id}/condense': [
    { says: 'no condenser', status: 400, shape: detail(), ask: on('finished', '/condense') },
    unknown('/condense', 404, detail('Conversation not found')),
  ],
}

/** These conversations work in directories that their requests named. */
const SHARED = { outcome: 'shared', detail: TEXT }

const branches: Cases = {
  'POST /api/conversations/{id}/fork': [
    { says: 'without a body', status: 201, shape: { ...INFO, files: SHARED } },
    {
      says: 'with a title',
      status: 201,
      shape: { ...INFO, files: SHARED, title: 'Fork', tags: { title: 'Fork' } },
      ask: () => ({ body: { title: 'Fork' } }),
    },
    {
      says: 'a taken id',
      status: 409,
      shape: detail(),
      ask: async (place) => ({ body: { id: (await place.idle()).id } }),
    },
    { says: 'an unknown event', status: 404, shape: expect404(), ask: () => ({ body: { from_event_id: UNKNOWN } }) },
    bad('an id that is none', ['id'], { id: 'x' }),
    unknown('/fork', 404, detail('Source conversation not found')),
  ],
  'POST /api/conversations/{id}/navigate': [
    {
      says: 'to an event',
      status: 200,
      shape: INFO,
      ask: async (place) => {
        const { id, last_user_message_id } = await place.finished()
        return { path: at(id, '/navigate'), body: { event_id: last_user_message_id } }
      },
    },
    {
      says: 'to the empty tree',
      status: 200,
      shape: { ...INFO, leaf_event_id: null },
      ask: on('finished', '/navigate', { event_id: null }),
    },
    {
      says: 'an empty object is the empty tree',
      status: 200,
      shape: { ...INFO, leaf_event_id: null },
      ask: on('finished', '/navigate', {}),
    },
    { says: 'no body', status: 422, shape: invalid('body') },
    { says: 'an unknown event', status: 404, shape: expect404(), ask: () => ({ body: { event_id: UNKNOWN } }) },
    unknown('/navigate', 404, detail('Conversation not found'), { event_id: null }),
  ],
}

/** A message, and the event for programs. */
function expect404(): unknown {
  return { detail: TEXT, event_id: UNKNOWN }
}

export const conversationCases: Cases = { ...lists, ...records, ...actions, ...branches }
