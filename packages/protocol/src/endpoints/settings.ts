/** Rows of settings and secrets that the seed does not name: reading, and the agent-server face. Source: agent-server-wire.md 1.10. */
import { z } from 'zod'
import { MCPServerPatch, SettingsResponse, SettingsSchema, SettingsUpdateRequest } from '../agent-settings.ts'
import { MCPServer } from '../mcp.ts'
import { PutSecretRequest, SecretItem } from '../secrets.ts'
import { endpoint } from './endpoint.ts'

const settings = { tag: 'Settings', auth: 'session_key' } as const
const secrets = { tag: 'Secrets', auth: 'session_key' } as const

const answer = (status: number, description: string) => ({ status, schema: SettingsResponse, description })
const message = (description: string) => ({ status: 200, schema: z.object({ message: z.string() }), description })

export const readSettings = endpoint({
  ...settings,
  method: 'GET',
  path: '/api/settings',
  summary: 'Settings, secrets hidden or as X-Expose-Secrets says',
  ok: answer(200, 'The settings, defaults where nothing was stored'),
  errors: [400, 403],
})

export const patchSettings = endpoint({
  ...settings,
  method: 'PATCH',
  path: '/api/settings',
  summary: 'Change settings',
  body: SettingsUpdateRequest,
  ok: answer(200, 'The settings as they are now, secrets hidden'),
  errors: [400, 404],
})

export const agentSettingsSchema = endpoint({
  ...settings,
  method: 'GET',
  path: '/api/settings/agent-schema',
  summary: 'What a form for agent settings is made from',
  ok: { status: 200, schema: SettingsSchema, description: 'The fields' },
  errors: [],
})

export const conversationSettingsSchema = endpoint({
  ...settings,
  method: 'GET',
  path: '/api/settings/conversation-schema',
  summary: 'What a form for conversation settings is made from',
  ok: { status: 200, schema: SettingsSchema, description: 'The fields' },
  errors: [],
})

const mcp = {
  ...settings,
  path: '/api/settings/mcp/{settings_key}',
  params: z.object({ settings_key: z.string() }),
} as const

export const addMcpServer = endpoint({
  ...mcp,
  method: 'POST',
  summary: 'Add an MCP server',
  body: MCPServer,
  ok: answer(201, 'Added'),
  errors: [409],
})

export const patchMcpServer = endpoint({
  ...mcp,
  method: 'PATCH',
  summary: 'Change an MCP server',
  body: MCPServerPatch,
  ok: answer(200, 'Changed'),
  errors: [404],
})

export const removeMcpServer = endpoint({
  ...mcp,
  method: 'DELETE',
  summary: 'Remove an MCP server',
  ok: answer(200, 'Removed'),
  errors: [404],
})

export const listStoredSecrets = endpoint({
  ...secrets,
  method: 'GET',
  path: '/api/settings/secrets',
  summary: 'Names and descriptions of secrets',
  ok: { status: 200, schema: z.object({ secrets: z.array(SecretItem) }), description: 'By name' },
  errors: [],
})

export const putStoredSecret = endpoint({
  ...secrets,
  method: 'PUT',
  path: '/api/settings/secrets',
  summary: 'Create or replace a secret',
  body: PutSecretRequest,
  ok: { status: 200, schema: SecretItem, description: 'Stored' },
  errors: [],
})

const one = { ...secrets, path: '/api/settings/secrets/{name}', params: z.object({ name: z.string() }) } as const

export const readStoredSecret = endpoint({
  ...one,
  method: 'GET',
  summary: 'The value of a secret, as text',
  ok: { status: 200, description: 'text/plain, exactly the value' },
  errors: [404],
})

export const deleteStoredSecret = endpoint({
  ...one,
  method: 'DELETE',
  summary: 'Delete a secret',
  ok: { status: 200, schema: z.object({ deleted: z.boolean() }), description: 'Deleted' },
  errors: [404],
})

export const listSecrets = endpoint({
  ...secrets,
  method: 'GET',
  path: '/api/secrets',
  summary: 'Names and descriptions of custom secrets',
  ok: { status: 200, schema: z.object({ custom_secrets: z.array(SecretItem) }), description: 'By name' },
  errors: [],
})

export const deleteSecret = endpoint({
  ...secrets,
  method: 'DELETE',
  path: '/api/secrets/{secret_id}',
  summary: 'Delete a custom secret',
  params: z.object({ secret_id: z.string() }),
  ok: message('Deleted'),
  errors: [404],
})

/** Literal paths stand before those with a parameter in the same place. */
export const settingsRows = [
  readSettings,
  patchSettings,
  agentSettingsSchema,
  conversationSettingsSchema,
  addMcpServer,
  patchMcpServer,
  removeMcpServer,
  listStoredSecrets,
  putStoredSecret,
  readStoredSecret,
  deleteStoredSecret,
  listSecrets,
  deleteSecret,
] as const
