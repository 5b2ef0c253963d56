/**
 * Endpoint rows of settings and secrets in the conversation service API. New Conversation shares its path with the creation in
 * the agent-server API and is the row `createConversation`.
 * Source: interface.md, Endpoints.
 */
import { z } from 'zod'
import { CreateSecretRequest, UpdateSecretRequest } from '../secrets.ts'
import { Settings } from '../settings.ts'
import { endpoint } from './endpoint.ts'

const Message = z.record(z.string(), z.string())

export const storeSettings = endpoint({
  operationId: 'storeSettings',
  method: 'POST',
  path: '/api/settings',
  summary: 'Store Settings',
  description: 'Stores the settings of the user; absent members keep their value.',
  tag: 'Settings',
  auth: 'session_key',
  body: Settings,
  namesAddresses: true,
  ok: { status: 200, schema: z.object({ message: z.string() }), description: 'Settings stored successfully' },
  errors: [],
})

export const createSecret = endpoint({
  operationId: 'createSecret',
  method: 'POST',
  path: '/api/secrets',
  summary: 'Create Custom Secret',
  description: 'Creates a custom secret.',
  tag: 'Secrets',
  auth: 'session_key',
  body: CreateSecretRequest,
  ok: { status: 201, schema: z.record(z.string(), z.unknown()), description: 'Created' },
  errors: [409],
})

export const updateSecret = endpoint({
  operationId: 'updateSecret',
  method: 'PUT',
  path: '/api/secrets/{secret_id}',
  summary: 'Update Custom Secret',
  description: 'Changes the name or the description of a custom secret.',
  tag: 'Secrets',
  auth: 'session_key',
  params: z.object({ secret_id: z.string() }),
  body: UpdateSecretRequest,
  ok: { status: 200, schema: Message, description: 'Updated' },
  errors: [404, 409],
})
