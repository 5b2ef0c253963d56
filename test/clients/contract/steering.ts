/** Goals, models, secrets and chat completions. Source: agent-server-wire.md 1.5, 1.13. */
import { expect } from 'vitest'
import { type Ask, type Case, type Cases, detail, invalid, NUMBER, type Place, SUCCESS, TEXT, UNKNOWN } from './case.ts'

const at = (id: string, rest: string) => `/api/conversations/${id}/${rest}`
const ask = (body: unknown) => (): Ask => ({ body })
const on =
  (state: 'waiting' | 'running', rest: string, body: unknown) =>
  async (place: Place): Promise<Ask> => ({ path: at((await place[state]()).id, rest), body })

/** All of these answer an unknown id alike. */
const unknown = (rest: string, body?: unknown): Case => ({
  says: 'unknown id',
  status: 404,
  shape: { detail: 'Not Found' },
  ask: () => ({ path: at(UNKNOWN, rest), body }),
})
const row = (rest: string) => `POST /api/conversations/{id}/${rest}`
const BUSY = { detail: 'Conversation run or goal loop already running.' }
const LLM = { model: 'openai/other', api_key: 'k' }

const goals: Cases = {
  [row('goal')]: [
    { says: 'an objective', status: 200, shape: SUCCESS, ask: ask({ objective: 'x', max_iterations: 1 }) },
    {
      says: 'one that is empty',
      status: 400,
      shape: { detail: 'Goal objective must not be empty.' },
      ask: ask({ objective: '' }),
    },
    { says: 'while it runs', status: 409, shape: BUSY, ask: on('running', 'goal', { objective: 'x' }) },
    { says: 'while an action waits', status: 200, shape: SUCCESS, ask: on('waiting', 'goal', { objective: 'x' }) },
    { says: 'no objective', status: 422, shape: invalid('body', 'objective'), ask: ask({}) },
    {
      says: 'no iterations',
      status: 422,
      shape: invalid('body', 'max_iterations'),
      ask: ask({ objective: 'x', max_iterations: 0 }),
    },
    unknown('goal', { objective: 'x' }),
  ],
  [row('goal/stop')]: [{ says: 'nothing to stop', status: 200, shape: SUCCESS }, unknown('goal/stop')],
  [row('goal/resume')]: [
    { says: 'nothing to resume', status: 400, shape: { detail: 'no_resumable_goal' } },
    { says: 'while it runs', status: 409, shape: BUSY, ask: on('running', 'goal/resume', undefined) },
    unknown('goal/resume'),
  ],
}

const models: Cases = {
  [row('switch_llm')]: [
    { says: 'another model', status: 200, shape: SUCCESS, ask: ask({ llm: LLM }) },
    { says: 'while it runs', status: 200, shape: SUCCESS, ask: on('running', 'switch_llm', { llm: LLM }) },
    { says: 'no model', status: 422, shape: invalid('body', 'llm'), ask: ask({}) },
    unknown('switch_llm', { llm: LLM }),
  ],
  [row('switch_profile')]: [
    {
      says: 'a stored profile',
      status: 200,
      shape: SUCCESS,
      ask: async (place) => {
        await place.call('POST', '/api/profiles/contract-switch', { llm: LLM })
        return { body: { profile_name: 'contract-switch' } }
      },
    },
    {
      says: 'an unknown profile',
      status: 404,
      shape: detail("Profile 'absent' not found"),
      ask: ask({ profile_name: 'absent' }),
    },
    unknown('switch_profile', { profile_name: 'x' }),
  ],
  [row('switch_acp_model')]: [
    { says: 'not an ACP agent', status: 400, shape: detail(), ask: ask({ model: 'x' }) },
    unknown('switch_acp_model', { model: 'x' }),
  ],
  [row('load_plugin')]: [
    { says: 'any plugin', status: 400, shape: detail(), ask: ask({ plugin_ref: 'x' }) },
    unknown('load_plugin', { plugin_ref: 'x' }),
  ],
}

const chat = (members: object, messages: unknown = [{ role: 'user', content: 'x' }]) =>
  ask({ model: 'openhands_absent', messages, ...members })

const others: Cases = {
  [row('secrets')]: [
    {
      says: 'in every form',
      status: 200,
      shape: SUCCESS,
      ask: ask({ secrets: { A: 'x', B: { value: 'y' }, C: { kind: 'StaticSecret', value: 'z' } } }),
    },
    {
      says: 'a host that is not asked',
      status: 422,
      shape: invalid('body', 'secrets', 'A', 'url'),
      ask: ask({ secrets: { A: { kind: 'LookupSecret', url: 'https://example.org' } } }),
    },
    {
      says: 'an unknown kind',
      status: 422,
      shape: { detail: expect.any(Array) },
      ask: ask({ secrets: { A: { kind: 'Other' } } }),
    },
    unknown('secrets', { secrets: {} }),
  ],
  'GET /v1/models': [
    { says: 'a list', status: 200, shape: { object: 'list', data: expect.any(Array) } },
    { says: 'no key', status: 401, shape: detail('Unauthorized'), ask: () => ({ anonymous: true }) },
  ],
  'POST /v1/chat/completions': [
    {
      says: 'a message',
      status: 200,
      shape: {
        id: TEXT,
        object: 'chat.completion',
        created: NUMBER,
        model: 'openhands_contract-chat',
        choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
        usage: { prompt_tokens: NUMBER, completion_tokens: NUMBER, total_tokens: NUMBER },
      },
      ask: async (place) => {
        const { llm } = place.bench.agent() as { llm: object }
        await place.call('POST', '/api/profiles/contract-chat', { llm })
        return { body: { model: 'openhands_contract-chat', messages: [{ role: 'user', content: 'Hello.' }] } }
      },
    },
    { says: 'an unknown model', status: 404, shape: detail(), ask: chat({}) },
    { says: 'no messages', status: 422, shape: invalid('body', 'messages'), ask: chat({}, []) },
    { says: 'no key', status: 401, shape: detail('Unauthorized'), ask: () => ({ anonymous: true, body: {} }) },
  ],
}

export const steeringCases: Cases = { ...goals, ...models, ...others }
