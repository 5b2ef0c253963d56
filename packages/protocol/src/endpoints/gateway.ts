/** Endpoint rows of the chat completions gateway. Source: agent-server-wire.md 1.13, 3. */
import { ChatCompletion, ChatCompletionRequest, GatewayModels } from '../chat-completion.ts'
import { endpoint, LARGE_BODY_LIMIT_BYTES } from './endpoint.ts'

const gateway = { tag: 'Chat completions', auth: 'session_key' } as const

export const listGatewayModels = endpoint({
  operationId: 'listGatewayModels',
  ...gateway,
  method: 'GET',
  path: '/v1/models',
  description: 'Lists the agents that accept chat completions, one for each stored profile.',
  ok: { status: 200, schema: GatewayModels, description: 'The ids are `openhands_` and the name of the profile' },
  errors: [],
})

export const chatCompletion = endpoint({
  operationId: 'chatCompletion',
  ...gateway,
  method: 'POST',
  path: '/v1/chat/completions',
  description:
    'Sends a message to an agent. The header X-OpenHands-ServerConversation-ID names the conversation to continue.',
  body: ChatCompletionRequest,
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  ok: {
    status: 200,
    schema: ChatCompletion,
    description: 'The reply of the agent after its run, or a stream of it',
  },
  errors: [400, 404, 409, 429, 500, 503, 504, 507],
})
