/** Events of a conversation. Source: agent-server-wire.md 1.6 and 4. */
import { expect } from 'vitest'
import {
  type Ask,
  type Case,
  type Cases,
  detail,
  invalid,
  LIST,
  LOCAL,
  NUMBER,
  orNull,
  type Place,
  SUCCESS,
  TEXT,
  UNKNOWN,
  UUID,
} from './case.ts'

const at = (id: string, rest = '') => `/api/conversations/${id}/events${rest}`
const notThere = detail(`Conversation not found: ${UNKNOWN}`)

const unknown = (rest: string, body?: unknown): Case => ({
  says: 'unknown id',
  status: 404,
  shape: notThere,
  ask: () => ({ path: at(UNKNOWN, rest), body }),
})

const finished =
  (rest: string) =>
  async (place: Place): Promise<Ask> => ({ path: at((await place.finished()).id, rest) })

const idle =
  (rest: string) =>
  async (place: Place): Promise<Ask> => ({ path: at((await place.idle()).id, rest) })

const refusedQuery = (says: string, rest: string, member: string): Case => ({
  says,
  status: 422,
  shape: invalid('query', member),
  ask: idle(rest),
})

const respond = (says: string, state: 'idle' | 'waiting' | 'running', accept: boolean, status = 200): Case => ({
  says,
  status,
  shape: status === 200 ? SUCCESS : detail(),
  ask: async (place) => ({ path: at((await place[state]()).id, '/respond_to_confirmation'), body: { accept } }),
})

const MESSAGE_PARTS = {
  role: TEXT,
  content: LIST,
  tool_calls: null,
  tool_call_id: null,
  name: null,
  reasoning_content: null,
  thinking_blocks: [],
  responses_reasoning_item: null,
}

export const eventCases: Cases = {
  'GET /api/conversations/{id}/events': [
    {
      says: 'in request order, null for an unknown one',
      status: 200,
      shape: [null, expect.objectContaining({ kind: 'MessageEvent', id: UUID, timestamp: LOCAL, source: 'user' })],
      ask: async (place) => {
        const { id } = await place.finished()
        const { items } = await place.call('GET', `${at(id, '/search')}?kind=MessageEvent&source=user`)
        return { path: at(id), body: [UNKNOWN, items[0].id] }
      },
    },
    { says: 'no list', status: 422, shape: invalid('body'), ask: () => ({ body: {} }) },
    unknown('', []),
  ],
  'POST /api/conversations/{id}/events': [
    {
      says: 'text without cache_prompt',
      status: 200,
      shape: SUCCESS,
      ask: () => ({ body: { role: 'user', content: [{ type: 'text', text: 'Hi' }] } }),
    },
    { says: 'an empty object is an empty message', status: 200, shape: SUCCESS, ask: () => ({ body: {} }) },
    {
      says: 'to a running one, with run',
      status: 200,
      shape: SUCCESS,
      ask: async (place) => ({ path: at((await place.running()).id), body: { content: [], run: true } }),
    },
    { says: 'another role', status: 422, shape: invalid('body', 'role'), ask: () => ({ body: { role: 'assistant' } }) },
    {
      says: 'content that is text',
      status: 422,
      shape: invalid('body', 'content'),
      ask: () => ({ body: { content: 'Hi' } }),
    },
    unknown('', { content: [] }),
  ],
  'GET /api/conversations/{id}/events/search': [
    {
      says: 'a page, with the id of the next',
      status: 200,
      shape: { items: [expect.objectContaining({ kind: TEXT })], next_page_id: UUID },
      ask: finished('/search?limit=1'),
    },
    {
      says: 'null-valued members are left out',
      status: 200,
      shape: {
        items: [
          {
            kind: 'MessageEvent',
            id: UUID,
            timestamp: LOCAL,
            parent_id: UUID,
            source: 'agent',
            llm_message: {
              role: 'assistant',
              content: [{ type: 'text', text: 'Done.', cache_prompt: false }],
              thinking_blocks: [],
            },
            llm_response_id: TEXT,
            activated_skills: [],
            extended_content: [],
          },
        ],
        next_page_id: null,
      },
      ask: finished('/search?kind=MessageEvent&source=agent'),
    },
    {
      says: 'nothing matches',
      status: 200,
      shape: { items: [], next_page_id: null },
      ask: finished('/search?body=rhubarb'),
    },
    refusedQuery('a limit of 0', '/search?limit=0', 'limit'),
    refusedQuery('a limit of 101', '/search?limit=101', 'limit'),
    refusedQuery('an order that is none', '/search?sort_order=RANDOM', 'sort_order'),
    refusedQuery('a time that is none', '/search?timestamp__gte=soon', 'timestamp__gte'),
    unknown('/search'),
  ],
  'GET /api/conversations/{id}/events/count': [
    { says: 'a bare number', status: 200, shape: NUMBER, ask: idle('/count') },
    {
      says: 'by class path',
      status: 200,
      shape: 2,
      ask: finished('/count?kind=openhands.sdk.event.llm_convertible.message.MessageEvent'),
    },
    refusedQuery('a source that is none', '/count?source=moon', 'source'),
    unknown('/count'),
  ],
  'GET /api/conversations/{id}/events/{event_id}': [
    {
      says: 'the event, nulls included',
      status: 200,
      shape: {
        kind: 'MessageEvent',
        id: UUID,
        timestamp: LOCAL,
        parent_id: orNull(UUID),
        source: 'user',
        llm_message: MESSAGE_PARTS,
        llm_response_id: null,
        activated_skills: [],
        extended_content: [],
        sender: null,
        critic_result: null,
      },
      ask: async (place) => {
        const { id, last_user_message_id } = await place.finished()
        return { path: at(id, `/${last_user_message_id}`) }
      },
    },
    { says: 'an unknown event', status: 404, shape: { detail: TEXT, event_id: UNKNOWN }, ask: idle(`/${UNKNOWN}`) },
    unknown(`/${UNKNOWN}`),
  ],
  'POST /api/conversations/{id}/events/respond_to_confirmation': [
    respond('accept what waits', 'waiting', true),
    respond('reject what waits', 'waiting', false),
    respond('accept while running', 'running', true),
    respond('reject when nothing waits', 'idle', false),
    {
      says: 'no answer',
      status: 422,
      shape: invalid('body', 'accept'),
      ask: async (place) => ({ ...(await idle('/respond_to_confirmation')(place)), body: {} }),
    },
    unknown('/respond_to_confirmation', { accept: true }),
  ],
}
