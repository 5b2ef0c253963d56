/** Endpoint rows of settings and secrets outside the interface document: reading, and the agent-server API. Source: agent-server-wire.md 1.10. */
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
  operationId: 'readSettings',
  ...settings,
  method: 'GET',
  path: '/api/settings',
  description: 'Returns the settings of the user. Secrets are hidden unless X-Expose-Secrets asks for them.',
  ok: answer(200, 'The settings, with defaults for absent values'),
  errors: [400, 403],
})

export const patchSettings = endpoint({
  operationId: 'patchSettings',
  ...settings,
  method: 'PATCH',
  path: '/api/settings',
  description: 'Changes the settings of the user.',
  body: SettingsUpdateRequest,
  namesAddresses: true,
  ok: answer(200, 'The changed settings, secrets hidden'),
  errors: [400, 404],
})

export const agentSettingsSchema = endpoint({
  operationId: 'agentSettingsSchema',
  ...settings,
  method: 'GET',
  path: '/api/settings/agent-schema',
  description: 'Returns the fields of a form for agent settings.',
  ok: { status: 200, schema: SettingsSchema, description: 'The fields' },
  errors: [],
})

export const conversationSettingsSchema = endpoint({
  operationId: 'conversationSettingsSchema',
  ...settings,
  method: 'GET',
  path: '/api/settings/conversation-schema',
  description: 'Returns the fields of a form for conversation settings.',
  ok: { status: 200, schema: SettingsSchema, description: 'The fields' },
  errors: [],
})

const mcp = {
  ...settings,
  path: '/api/settings/mcp/{settings_key}',
  params: z.object({ settings_key: z.string() }),
} as const

export const addMcpServer = endpoint({
  operationId: 'addMcpServer',
  ...mcp,
  method: 'POST',
  description: 'Adds an MCP server to the settings.',
  body: MCPServer,
  namesAddresses: true,
  ok: answer(201, 'Added'),
  errors: [409],
})

export const patchMcpServer = endpoint({
  operationId: 'patchMcpServer',
  ...mcp,
  method: 'PATCH',
  description: 'Changes an MCP server of the settings.',
  body: MCPServerPatch,
  namesAddresses: true,
  ok: answer(200, 'Changed'),
  errors: [404],
})

export const removeMcpServer = endpoint({
  operationId: 'removeMcpServer',
  ...mcp,
  method: 'DELETE',
  description: 'Removes an MCP server from the settings.',
  ok: answer(200, 'Removed'),
  errors: [404],
})

export const listStoredSecrets = endpoint({
  operationId: 'listStoredSecrets',
  ...secrets,
  method: 'GET',
  path: '/api/settings/secrets',
  description: 'Lists the names and descriptions of secrets.',
  ok: { status: 200, schema: z.object({ secrets: z.array(SecretItem) }), description: 'Sorted by name' },
  errors: [],
})

export const putStoredSecret = endpoint({
  operationId: 'putStoredSecret',
  ...secrets,
  method: 'PUT',
  path: '/api/settings/secrets',
  description: 'Creates or replaces a secret.',
  body: PutSecretRequest,
  ok: { status: 200, schema: SecretItem, description: 'Stored' },
  errors: [],
})

const one = { ...secrets, path: '/api/settings/secrets/{name}', params: z.object({ name: z.string() }) } as const

export const readStoredSecret = endpoint({
  operationId: 'readStoredSecret',
  ...one,
  method: 'GET',
  description: 'Returns the value of a secret as text.',
  isAuditedRead: true,
  ok: { status: 200, description: 'text/plain: the value, unchanged' },
  errors: [404],
})

export const deleteStoredSecret = endpoint({
  operationId: 'deleteStoredSecret',
  ...one,
  method: 'DELETE',
  description: 'Deletes a secret.',
  ok: { status: 200, schema: z.object({ deleted: z.boolean() }), description: 'Deleted' },
  errors: [404],
})

export const listSecrets = endpoint({
  operationId: 'listSecrets',
  ...secrets,
  method: 'GET',
  path: '/api/secrets',
  description: 'Lists the names and descriptions of custom secrets.',
  ok: { status: 200, schema: z.object({ custom_secrets: z.array(SecretItem) }), description: 'Sorted by name' },
  errors: [],
})

export const deleteSecret = endpoint({
  operationId: 'deleteSecret',
  ...secrets,
  method: 'DELETE',
  path: '/api/secrets/{secret_id}',
  description: 'Deletes a custom secret.',
  params: z.object({ secret_id: z.string() }),
  ok: message('Deleted'),
  errors: [404],
})
