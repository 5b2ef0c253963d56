/** Liveness, details, settings and stored secrets. Source: agent-server-wire.md 1.3 and 1.10. */
import { expect } from 'vitest'
import { BOOLEAN, type Case, type Cases, detail, invalid, LIST, NUMBER, OBJECT, orNull, TEXT } from './case.ts'

const SERVER_INFO = {
  uptime: NUMBER,
  idle_time: NUMBER,
  title: TEXT,
  version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
  sdk_version: TEXT,
  tools_version: TEXT,
  workspace_version: TEXT,
  build_git_sha: TEXT,
  build_git_ref: TEXT,
  python_version: TEXT,
  usable_tools: LIST,
  runtime_idle_timeout_seconds: orNull(NUMBER),
  capabilities: LIST,
  max_foreground_terminal_timeout_seconds: orNull(NUMBER),
  docs: '/docs',
  redoc: '/redoc',
}
const serverInfo: Case = {
  says: 'details, and more beside them',
  status: 200,
  shape: expect.objectContaining(SERVER_INFO),
}

const SETTINGS = expect.objectContaining({
  agent_settings: OBJECT,
  conversation_settings: OBJECT,
  llm_api_key_is_set: BOOLEAN,
  active_profile: null,
  active_agent_profile_id: null,
  misc_settings: OBJECT,
})
const FORM = {
  model_name: TEXT,
  sections: expect.arrayContaining([
    expect.objectContaining({
      key: TEXT,
      label: TEXT,
      fields: expect.arrayContaining([
        expect.objectContaining({ key: TEXT, label: TEXT, section: TEXT, section_label: TEXT, value_type: TEXT }),
      ]),
    }),
  ]),
}

const server = { command: 'true' }
const mcp = '/api/settings/mcp'
const secrets = '/api/settings/secrets'

export const serverCases: Cases = {
  'GET /alive': [{ says: 'yes', status: 200, shape: { status: 'ok' } }],
  'GET /health': [{ says: 'yes', status: 200, shape: { status: 'ok' } }],
  'GET /ready': [{ says: 'yes', status: 200, shape: { status: 'ready' } }],
  'GET /server_info': [serverInfo],
  'GET /': [serverInfo],
  'GET /api/settings': [
    { says: 'hidden', status: 200, shape: SETTINGS },
    { says: 'encrypted', status: 200, shape: SETTINGS, ask: () => ({ headers: { 'X-Expose-Secrets': 'encrypted' } }) },
    { says: 'in clear', status: 200, shape: SETTINGS, ask: () => ({ headers: { 'X-Expose-Secrets': 'plaintext' } }) },
    { says: 'another word', status: 400, shape: detail(), ask: () => ({ headers: { 'X-Expose-Secrets': 'please' } }) },
  ],
  'PATCH /api/settings': [
    {
      says: 'a part',
      status: 200,
      shape: SETTINGS,
      ask: () => ({ body: { conversation_settings_diff: { max_iterations: 7 } } }),
    },
    {
      says: 'opaque ones',
      status: 200,
      shape: SETTINGS,
      ask: () => ({ body: { misc_settings_diff: { a: { b: 1 } } } }),
    },
    { says: 'nothing', status: 400, shape: detail(), ask: () => ({ body: {} }) },
    {
      says: 'a result that is invalid',
      status: 422,
      shape: invalid('body', 'conversation_settings_diff', 'max_iterations'),
      ask: () => ({ body: { conversation_settings_diff: { max_iterations: 0 } } }),
    },
    {
      says: 'an unknown profile',
      status: 404,
      shape: detail("Profile 'rhubarb' not found"),
      ask: () => ({ body: { active_profile: 'rhubarb' } }),
    },
  ],
  'GET /api/settings/agent-schema': [{ says: 'a form', status: 200, shape: FORM }],
  'GET /api/settings/conversation-schema': [{ says: 'a form', status: 200, shape: FORM }],
  'POST /api/settings/mcp/{settings_key}': [
    { says: 'a new one', status: 201, shape: SETTINGS, ask: () => ({ path: `${mcp}/one`, body: server }) },
    { says: 'one that is there', status: 409, shape: detail(), ask: () => ({ path: `${mcp}/one`, body: server }) },
    {
      says: 'neither command nor url',
      status: 422,
      shape: { detail: LIST },
      ask: () => ({ path: `${mcp}/two`, body: {} }),
    },
  ],
  'PATCH /api/settings/mcp/{settings_key}': [
    {
      says: 'one that is there',
      status: 200,
      shape: SETTINGS,
      ask: () => ({ path: `${mcp}/one`, body: { args: ['x'] } }),
    },
    { says: 'one that is not', status: 404, shape: detail(), ask: () => ({ path: `${mcp}/none`, body: { args: [] } }) },
    {
      says: 'an unknown member',
      status: 422,
      shape: invalid('body', 'rhubarb'),
      ask: () => ({ path: `${mcp}/one`, body: { rhubarb: 1 } }),
    },
  ],
  'DELETE /api/settings/mcp/{settings_key}': [
    { says: 'one that is there', status: 200, shape: SETTINGS, ask: () => ({ path: `${mcp}/one` }) },
    { says: 'one that is not', status: 404, shape: detail(), ask: () => ({ path: `${mcp}/none` }) },
  ],
  'PUT /api/settings/secrets': [
    {
      says: 'one',
      status: 200,
      shape: { name: 'KEY', description: 'For a test' },
      ask: () => ({ body: { name: 'KEY', value: 'v', description: 'For a test' } }),
    },
    {
      says: 'a name that is none',
      status: 422,
      shape: detail(expect.anything()),
      ask: () => ({ body: { name: 'not so', value: 'v' } }),
    },
    { says: 'no value', status: 422, shape: invalid('body', 'value'), ask: () => ({ body: { name: 'KEY' } }) },
  ],
  'GET /api/settings/secrets': [
    {
      says: 'names without values',
      status: 200,
      shape: { secrets: expect.arrayContaining([{ name: 'KEY', description: 'For a test' }]) },
    },
  ],
  'GET /api/settings/secrets/{name}': [
    { says: 'the value as plain text', status: 200, shape: 'v', ask: () => ({ path: `${secrets}/KEY` }) },
    {
      says: 'an unknown one',
      status: 404,
      shape: detail('Secret not found'),
      ask: () => ({ path: `${secrets}/NONE` }),
    },
  ],
  'DELETE /api/settings/secrets/{name}': [
    { says: 'one', status: 200, shape: { deleted: true }, ask: () => ({ path: `${secrets}/KEY` }) },
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${secrets}/NONE` }) },
  ],
}
