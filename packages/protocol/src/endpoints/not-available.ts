/**
 * Endpoint rows of the agent-server API whose part this server does not have: an editor, a desktop, logins by subscription, a
 * configuration that arrives after the start. Source: agent-server-wire.md 1.2, 1.13.
 */
import { z } from 'zod'
import { laxConversationId, text } from '../lax-text.ts'
import { map } from '../lists.ts'
import { endpoint } from './endpoint.ts'

const keyed = { auth: 'session_key' } as const
const noAddress = {
  status: 200,
  schema: z.object({ url: z.string().nullable(), message: z.string() }),
  description: 'Always null, with the reason',
} as const

export const getVscodeStatus = endpoint({
  operationId: 'getVscodeStatus',
  ...keyed,
  tag: 'VS Code',
  method: 'GET',
  path: '/api/vscode/status',
  description: 'Returns that this server has no editor.',
  ok: {
    status: 200,
    schema: z.object({ running: z.boolean(), enabled: z.boolean(), message: z.string().optional() }),
    description: 'Always neither enabled nor running',
  },
  errors: [],
})

export const getVscodeUrl = endpoint({
  operationId: 'getVscodeUrl',
  ...keyed,
  tag: 'VS Code',
  method: 'GET',
  path: '/api/vscode/url',
  description: 'Returns no address: this server has no editor.',
  query: z.object({ base_url: z.string().optional(), workspace_dir: z.string().optional() }),
  ok: noAddress,
  errors: [],
})

export const getDesktopUrl = endpoint({
  operationId: 'getDesktopUrl',
  ...keyed,
  tag: 'Desktop',
  method: 'GET',
  path: '/api/desktop/url',
  description: 'Returns no address: this server has no desktop.',
  query: z.object({ base_url: z.string().optional() }),
  ok: noAddress,
  errors: [],
})

export const SubscriptionStatus = z.object({
  vendor: z.literal('openai'),
  connected: z.boolean(),
  account_email: z.string().nullable().default(null),
  /** Epoch seconds. */
  expires_at: z.number().nullable().default(null),
})
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>

const subscription = { ...keyed, tag: 'LLM' } as const
const status = { status: 200, schema: SubscriptionStatus, description: 'Always not connected' } as const

export const listSubscriptionModels = endpoint({
  operationId: 'listSubscriptionModels',
  ...subscription,
  method: 'GET',
  path: '/api/llm/subscription/openai/models',
  description: 'Lists the models of a login by subscription; this server supports none.',
  ok: {
    status: 200,
    schema: z.object({ vendor: z.literal('openai'), models: z.array(z.string()) }),
    description: 'Always empty',
  },
  errors: [],
})

export const getSubscriptionStatus = endpoint({
  operationId: 'getSubscriptionStatus',
  ...subscription,
  method: 'GET',
  path: '/api/llm/subscription/openai/status',
  description: 'Returns that no account is logged in by subscription.',
  ok: status,
  errors: [],
})

export const startSubscriptionLogin = endpoint({
  operationId: 'startSubscriptionLogin',
  ...subscription,
  method: 'POST',
  path: '/api/llm/subscription/openai/device/start',
  description: 'Refuses: logins by subscription are not supported.',
  ok: {
    status: 200,
    schema: z.object({
      device_code: z.string(),
      user_code: z.string(),
      verification_uri: z.string(),
      verification_uri_complete: z.string().nullable(),
      expires_at: z.number(),
      interval_seconds: z.number(),
    }),
    description: 'Never returned',
  },
  errors: [400],
})

export const pollSubscriptionLogin = endpoint({
  operationId: 'pollSubscriptionLogin',
  ...subscription,
  method: 'POST',
  path: '/api/llm/subscription/openai/device/poll',
  description: 'Refuses: no login by subscription has begun.',
  body: z.object({ device_code: z.string() }),
  ok: status,
  errors: [404],
})

export const endSubscription = endpoint({
  operationId: 'endSubscription',
  ...subscription,
  method: 'POST',
  path: '/api/llm/subscription/openai/logout',
  description: 'Returns that no account is logged in by subscription.',
  ok: status,
  errors: [],
})

const InitStatus = z.object({ state: z.enum(['dormant', 'initializing', 'ready']), error: z.string().nullable() })
const init = { tag: 'Server', auth: 'none', path: '/api/init' } as const
const initialised = { status: 200, schema: InitStatus, description: 'Never returned' } as const

export const getInit = endpoint({
  operationId: 'getInit',
  ...init,
  method: 'GET',
  description: 'Refuses: this server is configured when it starts.',
  ok: initialised,
  errors: [404],
})

export const postInit = endpoint({
  operationId: 'postInit',
  ...init,
  method: 'POST',
  description: 'Refuses: this server is configured when it starts. The body is not read.',
  ok: initialised,
  errors: [404],
})

export const putCredentialBinding = endpoint({
  operationId: 'putCredentialBinding',
  ...keyed,
  tag: 'Conversations',
  method: 'PUT',
  path: '/api/conversations/{conversation_id}/credential-bindings/{secret_name}',
  description: 'Refuses: credential bindings are not supported.',
  params: z.object({ conversation_id: laxConversationId(), secret_name: z.string() }),
  body: z.strictObject({
    url: text({ min: 1, max: 4096 }),
    headers: map(text({ max: 8192 }), { max: 16 }).default({}),
  }),
  namesAddresses: true,
  ok: { status: 204, description: 'Never returned' },
  errors: [404, 501],
})
