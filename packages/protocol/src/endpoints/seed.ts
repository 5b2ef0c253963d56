/**
 * Rows of the seed's own endpoints. New Conversation shares its path with the agent-server's creation and is the same row.
 * Source: seed: Endpoints.
 */
import { z } from 'zod'
import { CreateSecretRequest, UpdateSecretRequest } from '../secrets.ts'
import { Settings } from '../settings.ts'
import { createConversation } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

const said = z.record(z.string(), z.string())

export const storeSettings = endpoint({
  method: 'POST',
  path: '/api/settings',
  summary: 'Store Settings',
  tag: 'Settings',
  auth: 'session_key',
  body: Settings,
  ok: { status: 200, schema: z.object({ message: z.string() }), description: 'Settings stored successfully' },
  errors: [],
})

export const createSecret = endpoint({
  method: 'POST',
  path: '/api/secrets',
  summary: 'Create Custom Secret',
  tag: 'Secrets',
  auth: 'session_key',
  body: CreateSecretRequest,
  ok: { status: 201, schema: z.record(z.string(), z.unknown()), description: 'Created' },
  errors: [409],
})

export const updateSecret = endpoint({
  method: 'PUT',
  path: '/api/secrets/{secret_id}',
  summary: 'Update Custom Secret',
  tag: 'Secrets',
  auth: 'session_key',
  params: z.object({ secret_id: z.string() }),
  body: UpdateSecretRequest,
  ok: { status: 200, schema: said, description: 'Updated' },
  errors: [404, 409],
})

export const seedRows = [createConversation, storeSettings, createSecret, updateSecret] as const
