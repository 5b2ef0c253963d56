/** Rows for what can be chosen from: tools, models, and shared credentials of model providers. Source: agent-server-wire.md 1.2, 1.13. */
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
  tag: 'Tools',
  auth: 'session_key',
  method: 'GET',
  path: '/api/tools/',
  summary: 'Names of tools that an agent may be given',
  ok: { status: 200, schema: names, description: 'Sorted' },
  errors: [],
})

export const listProviders = endpoint({
  ...llm,
  method: 'GET',
  path: '/api/llm/providers',
  summary: 'Providers of models',
  ok: { status: 200, schema: z.object({ providers: names }), description: 'Sorted' },
  errors: [],
})

export const listModels = endpoint({
  ...llm,
  method: 'GET',
  path: '/api/llm/models',
  summary: 'Names of models, of one provider or of all',
  query: z.object({ provider: z.string().optional() }),
  ok: { status: 200, schema: z.object({ models: names }), description: 'Sorted; empty for an unknown provider' },
  errors: [],
})

export const listVerifiedModels = endpoint({
  ...llm,
  method: 'GET',
  path: '/api/llm/models/verified',
  summary: 'Models that are known to work well, by provider',
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
  ...connections,
  method: 'GET',
  summary: 'Credentials that several profiles share',
  ok: { status: 200, schema: z.array(ProviderConnectionResponse), description: 'By name, keys hidden' },
  errors: [],
})

export const createProviderConnection = endpoint({
  ...connections,
  method: 'POST',
  summary: 'Store a key and a base URL for several profiles',
  body: ProviderConnectionCreateRequest,
  ok: connection(201, 'Stored'),
  errors: [409],
})

export const updateProviderConnection = endpoint({
  ...one,
  method: 'PATCH',
  summary: 'Change a connection',
  body: ProviderConnectionUpdateRequest,
  ok: connection(200, 'Changed'),
  errors: [404],
})

export const deleteProviderConnection = endpoint({
  ...one,
  method: 'DELETE',
  summary: 'Remove a connection that no profile uses',
  ok: connection(200, 'Removed'),
  errors: [404, 409],
})

/** Literal paths stand before those with a parameter in the same place. */
export const modelRows = [
  listTools,
  listProviders,
  listModels,
  listVerifiedModels,
  listProviderConnections,
  createProviderConnection,
  updateProviderConnection,
  deleteProviderConnection,
] as const
