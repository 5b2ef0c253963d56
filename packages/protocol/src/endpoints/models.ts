/** Endpoint rows of tools, models and shared credentials of model providers. Source: agent-server-wire.md 1.2, 1.13. */
import { z } from 'zod'
import {
  ProviderConnectionCreateRequest,
  ProviderConnectionResponse,
  ProviderConnectionUpdateRequest,
} from '../profiles.ts'
import { endpoint } from './endpoint.ts'

const llm = { tag: 'LLM', auth: 'session_key' } as const
const names = z.array(z.string())

export const listTools = endpoint({
  operationId: 'listTools',
  tag: 'Tools',
  auth: 'session_key',
  method: 'GET',
  path: '/api/tools/',
  description: 'Lists the names of the tools that an agent can be given.',
  ok: { status: 200, schema: names, description: 'Sorted' },
  errors: [],
})

export const listProviders = endpoint({
  operationId: 'listProviders',
  ...llm,
  method: 'GET',
  path: '/api/llm/providers',
  description: 'Lists the model providers.',
  ok: { status: 200, schema: z.object({ providers: names }), description: 'Sorted' },
  errors: [],
})

export const listModels = endpoint({
  operationId: 'listModels',
  ...llm,
  method: 'GET',
  path: '/api/llm/models',
  description: 'Lists the names of models, of one provider or of all.',
  query: z.object({ provider: z.string().optional() }),
  ok: { status: 200, schema: z.object({ models: names }), description: 'Sorted; empty for an unknown provider' },
  errors: [],
})

export const listVerifiedModels = endpoint({
  operationId: 'listVerifiedModels',
  ...llm,
  method: 'GET',
  path: '/api/llm/models/verified',
  description: 'Lists the models that are known to work well, by provider.',
  ok: { status: 200, schema: z.object({ models: z.record(z.string(), names) }), description: 'Sorted' },
  errors: [],
})

const connections = { ...llm, path: '/api/llm/provider-connections' } as const
const one = {
  ...llm,
  path: '/api/llm/provider-connections/{connection_id}',
  params: z.object({ connection_id: z.string() }),
} as const
const connection = (status: number, description: string) => ({
  status,
  schema: ProviderConnectionResponse,
  description,
})

export const listProviderConnections = endpoint({
  operationId: 'listProviderConnections',
  ...connections,
  method: 'GET',
  description: 'Lists the credentials that several profiles share.',
  ok: { status: 200, schema: z.array(ProviderConnectionResponse), description: 'Sorted by name, keys hidden' },
  errors: [],
})

export const createProviderConnection = endpoint({
  operationId: 'createProviderConnection',
  ...connections,
  method: 'POST',
  description: 'Stores a key and a base URL for several profiles.',
  body: ProviderConnectionCreateRequest,
  namesAddresses: true,
  ok: connection(201, 'Stored'),
  errors: [409],
})

export const updateProviderConnection = endpoint({
  operationId: 'updateProviderConnection',
  ...one,
  method: 'PATCH',
  description: 'Changes a provider connection.',
  body: ProviderConnectionUpdateRequest,
  namesAddresses: true,
  ok: connection(200, 'Changed'),
  errors: [404],
})

export const deleteProviderConnection = endpoint({
  operationId: 'deleteProviderConnection',
  ...one,
  method: 'DELETE',
  description: 'Deletes a provider connection that no profile uses.',
  ok: connection(200, 'Removed'),
  errors: [404, 409],
})
