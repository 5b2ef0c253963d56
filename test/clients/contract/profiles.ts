/** Tools, models, provider connections, and profiles of models and agents. Source: agent-server-wire.md 1.11 to 1.13. */
import { expect } from 'vitest'
import {
  BOOLEAN,
  type Cases,
  detail,
  invalid,
  LIST,
  NUMBER,
  OBJECT,
  orNull,
  type Place,
  TEXT,
  UNKNOWN,
  UUID,
} from './case.ts'

const CONNECTION = {
  id: TEXT,
  display_name: 'Mine',
  provider: 'custom',
  base_url: null,
  created_at: NUMBER,
  updated_at: NUMBER,
  api_key_set: true,
}
const connections = '/api/llm/provider-connections'
const connection = async (place: Place) =>
  (await place.call('POST', connections, { display_name: 'Mine', api_key: 'k' })).id

const PROFILE = {
  name: 'one',
  model: TEXT,
  base_url: null,
  provider_connection_id: null,
  provider_connection_broken: false,
  api_key_set: true,
}
const MUTATION = { name: TEXT, message: TEXT }
const llm = { model: 'openai/gpt-4o', api_key: 'profile-key' }
const profiles = '/api/profiles'
const agents = '/api/agent-profiles'

const AGENT = {
  id: UUID,
  name: TEXT,
  agent_kind: 'openhands',
  revision: NUMBER,
  llm_profile_ref: orNull(TEXT),
  mcp_server_refs: null,
}
const DIAGNOSTICS = {
  agent_kind: 'openhands',
  valid: BOOLEAN,
  errors: LIST,
  llm_profile_ref: TEXT,
  llm_profile_resolved: true,
  llm_api_key_set: true,
  mcp_server_refs: null,
  resolved_mcp_config_keys: LIST,
  dangling_mcp_server_refs: [],
  disabled_skills: [],
  resolved_skills: LIST,
  acp_api_key_secret_name: null,
  acp_base_url_secret_name: null,
  acp_file_secret_names: [],
  resolved_settings: orNull(OBJECT),
}

const catalogues: Cases = {
  'GET /api/tools/': [{ says: 'names', status: 200, shape: expect.arrayContaining(['terminal', 'file_editor']) }],
  'GET /api/llm/providers': [{ says: 'names', status: 200, shape: { providers: expect.arrayContaining(['openai']) } }],
  'GET /api/llm/models': [
    { says: 'names', status: 200, shape: { models: LIST } },
    {
      says: 'an unknown provider',
      status: 200,
      shape: { models: [] },
      ask: () => ({ path: '/api/llm/models?provider=rhubarb' }),
    },
  ],
  'GET /api/llm/models/verified': [{ says: 'by provider', status: 200, shape: { models: OBJECT } }],
  'POST /api/llm/provider-connections': [
    { says: 'one', status: 201, shape: CONNECTION, ask: () => ({ body: { display_name: 'Mine', api_key: 'k' } }) },
    { says: 'no key', status: 422, shape: invalid('body', 'api_key'), ask: () => ({ body: { display_name: 'Mine' } }) },
    {
      says: 'an unknown member',
      status: 422,
      shape: invalid('body', 'x'),
      ask: () => ({ body: { display_name: 'Mine', api_key: 'k', x: 1 } }),
    },
  ],
  'GET /api/llm/provider-connections': [
    { says: 'without keys', status: 200, shape: expect.arrayContaining([CONNECTION]) },
  ],
  'PATCH /api/llm/provider-connections/{connection_id}': [
    {
      says: 'a name',
      status: 200,
      shape: { ...CONNECTION, display_name: 'Ours' },
      ask: async (place) => ({ path: `${connections}/${await connection(place)}`, body: { display_name: 'Ours' } }),
    },
    {
      says: 'nothing',
      status: 422,
      shape: { detail: LIST },
      ask: async (place) => ({ path: `${connections}/${await connection(place)}`, body: {} }),
    },
    {
      says: 'a key that is cleared',
      status: 422,
      shape: { detail: [expect.objectContaining({ msg: expect.stringContaining('api_key cannot be cleared; ') })] },
      ask: async (place) => ({ path: `${connections}/${await connection(place)}`, body: { api_key: null } }),
    },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `${connections}/${UNKNOWN}`, body: { display_name: 'x' } }),
    },
  ],
  'DELETE /api/llm/provider-connections/{connection_id}': [
    {
      says: 'one',
      status: 200,
      shape: CONNECTION,
      ask: async (place) => ({ path: `${connections}/${await connection(place)}` }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${connections}/${UNKNOWN}` }) },
    {
      says: 'one in use',
      status: 409,
      shape: detail(),
      ask: async (place) => {
        const provider_connection_id = await connection(place)
        await place.call('POST', `${profiles}/using`, { llm: { model: 'openai/gpt-4o', provider_connection_id } })
        return { path: `${connections}/${provider_connection_id}` }
      },
    },
  ],
}

const models: Cases = {
  'POST /api/profiles/{name}': [
    { says: 'one', status: 201, shape: MUTATION, ask: () => ({ path: `${profiles}/one`, body: { llm } }) },
    { says: 'over another', status: 201, shape: MUTATION, ask: () => ({ path: `${profiles}/one`, body: { llm } }) },
    {
      says: 'a name that is none',
      status: 422,
      shape: invalid('path', 'name'),
      ask: () => ({ path: `${profiles}/.no`, body: { llm } }),
    },
  ],
  'GET /api/profiles': [
    {
      says: 'names and models',
      status: 200,
      shape: { profiles: expect.arrayContaining([PROFILE]), active_profile: null },
    },
  ],
  'GET /api/profiles/{name}': [
    {
      says: 'without its key',
      status: 200,
      shape: {
        name: 'one',
        config: expect.objectContaining({ model: TEXT, api_key: '**********' }),
        api_key_set: true,
      },
      ask: () => ({ path: `${profiles}/one` }),
    },
    {
      says: 'with its key',
      status: 200,
      shape: { name: 'one', config: expect.objectContaining({ api_key: 'profile-key' }), api_key_set: true },
      ask: () => ({ path: `${profiles}/one`, headers: { 'X-Expose-Secrets': 'plaintext' } }),
    },
    {
      says: 'another word',
      status: 400,
      shape: detail(),
      ask: () => ({ path: `${profiles}/one`, headers: { 'X-Expose-Secrets': 'please' } }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${profiles}/none` }) },
  ],
  'POST /api/profiles/{name}/validate': [
    {
      says: 'bad values are an answer',
      status: 200,
      shape: { valid: false, error: OBJECT },
      ask: () => ({ path: `${profiles}/one/validate`, body: { llm: { model: 'openai/gpt-4o', temperature: -1 } } }),
    },
    {
      says: 'no model',
      status: 422,
      shape: invalid('body', 'llm'),
      ask: () => ({ path: `${profiles}/one/validate`, body: {} }),
    },
  ],
  'POST /api/profiles/{name}/activate': [
    {
      says: 'one',
      status: 200,
      shape: { ...MUTATION, llm_applied: true },
      ask: () => ({ path: `${profiles}/one/activate` }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${profiles}/none/activate` }) },
  ],
  'POST /api/profiles/{name}/rename': [
    {
      says: 'one',
      status: 200,
      shape: MUTATION,
      ask: async (place) => {
        await place.call('POST', `${profiles}/old`, { llm })
        return { path: `${profiles}/old/rename`, body: { new_name: 'new' } }
      },
    },
    {
      says: 'a taken name',
      status: 409,
      shape: detail(),
      ask: () => ({ path: `${profiles}/new/rename`, body: { new_name: 'one' } }),
    },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `${profiles}/none/rename`, body: { new_name: 'other' } }),
    },
    {
      says: 'a name that is none',
      status: 422,
      shape: invalid('body', 'new_name'),
      ask: () => ({ path: `${profiles}/one/rename`, body: { new_name: '/' } }),
    },
  ],
  'DELETE /api/profiles/{name}': [
    { says: 'one', status: 200, shape: MUTATION, ask: () => ({ path: `${profiles}/new` }) },
    { says: 'one that is not there', status: 200, shape: MUTATION, ask: () => ({ path: `${profiles}/none` }) },
  ],
}

const agentCases: Cases = {
  'GET /api/agent-profiles': [
    {
      says: 'the first look makes one from the settings',
      status: 200,
      shape: { profiles: [{ ...AGENT, name: 'default' }], active_agent_profile_id: orNull(UUID) },
    },
  ],
  'POST /api/agent-profiles/{name}': [
    {
      says: 'one',
      status: 201,
      shape: expect.objectContaining(MUTATION),
      ask: () => ({ path: `${agents}/helper`, body: { llm_profile_ref: 'one' } }),
    },
    {
      says: 'no model',
      status: 422,
      shape: invalid('body', 'openhands', 'llm_profile_ref'),
      ask: () => ({ path: `${agents}/helper`, body: {} }),
    },
  ],
  'GET /api/agent-profiles/{name}': [
    {
      says: 'one',
      status: 200,
      shape: expect.objectContaining({
        profile: expect.objectContaining({ id: UUID, name: 'helper', llm_profile_ref: 'one' }),
      }),
      ask: () => ({ path: `${agents}/helper` }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${agents}/none` }) },
  ],
  'POST /api/agent-profiles/{name}/materialize': [
    {
      says: 'what it comes to',
      status: 200,
      shape: DIAGNOSTICS,
      ask: () => ({ path: `${agents}/helper/materialize` }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${agents}/none/materialize` }) },
  ],
  'POST /api/agent-profiles/{profile_id}/activate': [
    {
      says: 'by id',
      status: 200,
      shape: { id: UUID, message: TEXT, agent_settings_applied: BOOLEAN },
      ask: async (place) => ({ path: `${agents}/${(await place.call('GET', agents)).profiles[0].id}/activate` }),
    },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${agents}/${UNKNOWN}/activate` }) },
    {
      says: 'a name',
      status: 422,
      shape: invalid('path', 'profile_id'),
      ask: () => ({ path: `${agents}/helper/activate` }),
    },
  ],
  'POST /api/agent-profiles/{name}/rename': [
    {
      says: 'one',
      status: 200,
      shape: expect.objectContaining(MUTATION),
      ask: () => ({ path: `${agents}/helper/rename`, body: { new_name: 'aide' } }),
    },
    {
      says: 'a taken name',
      status: 409,
      shape: detail(),
      ask: () => ({ path: `${agents}/aide/rename`, body: { new_name: 'default' } }),
    },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `${agents}/none/rename`, body: { new_name: 'other' } }),
    },
  ],
  'DELETE /api/agent-profiles/{name}': [
    { says: 'one', status: 200, shape: expect.objectContaining(MUTATION), ask: () => ({ path: `${agents}/aide` }) },
    {
      says: 'one that is not there',
      status: 200,
      shape: expect.objectContaining(MUTATION),
      ask: () => ({ path: `${agents}/none` }),
    },
  ],
}

export const profileCases: Cases = { ...catalogues, ...models, ...agentCases }
