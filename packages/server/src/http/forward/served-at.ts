/**
 * Where a route is served when several nodes share a store. `here`: at any node, because everything that was acknowledged is in the
 * store. `owner`: at the node that owns the conversation that the request names. `started`: like `owner`, for the conversation that the
 * body names, if it exists. `demo`: like `owner`, for the demo of the user. `machine`: at the machine of a conversation that the query names, because the route acts on files or
 * processes of one machine.
 */
export type ServedAt = 'here' | 'owner' | 'started' | 'demo' | 'machine'

/** Reads at the owner: what lives in its memory, and files on its disk. */
const READ_AT_OWNER = [
  '/api/conversations/{conversation_id}/events/stream',
  '/api/conversations/{conversation_id}/workspace',
  '/api/conversations/{conversation_id}/workspace/{file_path}',
  '/api/conversations/{conversation_id}/files',
  '/api/conversations/{conversation_id}/files/content',
  '/api/conversations/{conversation_id}/files/search',
  '/api/conversations/{conversation_id}/files/text',
  '/api/conversations/{conversation_id}/completions',
  '/api/conversations/{conversation_id}/completions/{filename}',
]
/** It stores what another server reports about a conversation of its own. */
const RECEIVED = '/api/v1/webhooks/events/{conversation_id}'
const START = '/api/conversations'
const DEMO = '/api/demo'
/** It names its conversation in a header. */
const CHAT = '/v1/chat/completions'
/** What commands have printed is in the store. */
const COMMANDS = ['/api/bash/start_bash_command', '/api/bash/execute_bash_command']
const EXPORT = '/api/file/download-trajectory/{conversation_id}'

export function servedAt({ method, path }: { method: string; path: string }): ServedAt {
  if (method === 'POST' && path === START) return 'started'
  if (method === 'DELETE' && path === DEMO) return 'demo'
  if (path === CHAT) return 'owner'
  if (path === RECEIVED || path === EXPORT) return 'here'
  if (/^\/api\/(?:file|git)\//.test(path) || COMMANDS.includes(path)) return 'machine'
  if (!path.includes('{conversation_id}')) return 'here'
  return method !== 'GET' || READ_AT_OWNER.includes(path) ? 'owner' : 'here'
}
