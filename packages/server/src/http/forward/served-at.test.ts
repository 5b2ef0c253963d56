import * as protocol from '@parley/protocol'
import { expect, test } from 'vitest'
import { servedAt } from './served-at.ts'

const ROWS = (Object.values(protocol) as unknown[]).filter(
  (value): value is protocol.Endpoint => 'operationId' in Object(value),
)

/** Every route that names a conversation, or that acts on one machine. A new one says here what it does. */
const SERVED = {
  owner: [
    'DELETE /api/conversations/{conversation_id}',
    'GET /api/conversations/{conversation_id}/completions',
    'GET /api/conversations/{conversation_id}/completions/{filename}',
    'GET /api/conversations/{conversation_id}/events/stream',
    'GET /api/conversations/{conversation_id}/files',
    'GET /api/conversations/{conversation_id}/files/content',
    'GET /api/conversations/{conversation_id}/files/search',
    'GET /api/conversations/{conversation_id}/files/text',
    'GET /api/conversations/{conversation_id}/workspace',
    'GET /api/conversations/{conversation_id}/workspace/{file_path}',
    'PATCH /api/conversations/{conversation_id}',
    'POST /api/conversations/{conversation_id}/ask_agent',
    'POST /api/conversations/{conversation_id}/condense',
    'POST /api/conversations/{conversation_id}/confirmation_policy',
    'POST /api/conversations/{conversation_id}/events',
    'POST /api/conversations/{conversation_id}/events/respond_to_confirmation',
    'POST /api/conversations/{conversation_id}/events/{event_id}/result',
    'POST /api/conversations/{conversation_id}/fork',
    'POST /api/conversations/{conversation_id}/goal',
    'POST /api/conversations/{conversation_id}/goal/resume',
    'POST /api/conversations/{conversation_id}/goal/stop',
    'POST /api/conversations/{conversation_id}/interrupt',
    'POST /api/conversations/{conversation_id}/load_plugin',
    'POST /api/conversations/{conversation_id}/navigate',
    'POST /api/conversations/{conversation_id}/pause',
    'POST /api/conversations/{conversation_id}/run',
    'POST /api/conversations/{conversation_id}/secrets',
    'POST /api/conversations/{conversation_id}/security_analyzer',
    'POST /api/conversations/{conversation_id}/start',
    'POST /api/conversations/{conversation_id}/stop',
    'POST /api/conversations/{conversation_id}/switch_acp_model',
    'POST /api/conversations/{conversation_id}/switch_llm',
    'POST /api/conversations/{conversation_id}/switch_profile',
    'POST /v1/chat/completions',
    'PUT /api/conversations/{conversation_id}/credential-bindings/{secret_name}',
  ],
  here: [
    'GET /api/conversations/{conversation_id}',
    'GET /api/conversations/{conversation_id}/agent_final_response',
    'GET /api/conversations/{conversation_id}/events',
    'GET /api/conversations/{conversation_id}/events/count',
    'GET /api/conversations/{conversation_id}/events/find',
    'GET /api/conversations/{conversation_id}/events/outline',
    'GET /api/conversations/{conversation_id}/events/search',
    'GET /api/conversations/{conversation_id}/events/{event_id}',
    'GET /api/conversations/{conversation_id}/status',
    'GET /api/conversations/{conversation_id}/trajectory',
    'GET /api/conversations/{conversation_id}/usage',
    'GET /api/file/download-trajectory/{conversation_id}',
    'POST /api/v1/webhooks/events/{conversation_id}',
  ],
  started: ['POST /api/conversations'],
  demo: ['DELETE /api/demo'],
  machine: [
    'GET /api/file/archive',
    'GET /api/file/download',
    'GET /api/file/home',
    'GET /api/file/search_subdirs',
    'GET /api/git/changes',
    'GET /api/git/commits',
    'GET /api/git/commits/{sha}/changes',
    'GET /api/git/diff',
    'GET /api/git/patch',
    'POST /api/bash/execute_bash_command',
    'POST /api/bash/start_bash_command',
    'POST /api/file/create_directory',
    'POST /api/file/upload',
  ],
}

test('every route that names a conversation or a machine is served where the table says', () => {
  const served = Object.groupBy(ROWS, servedAt)
  const names = (at: keyof typeof SERVED) =>
    (served[at] ?? []).map(({ method, path }) => `${method} ${path}`).toSorted()
  const named = (name: string) => name.includes('{conversation_id}')
  expect({
    owner: names('owner'),
    started: names('started'),
    demo: names('demo'),
    machine: names('machine'),
    here: names('here').filter(named),
  }).toEqual(SERVED)
})
