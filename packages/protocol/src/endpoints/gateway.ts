/** Rows for programs that speak to any model with chat completions. Source: agent-server-wire.md 1.13, 3. */
import { ChatCompletion, ChatCompletionRequest, GatewayModels } from '../chat-completion.ts'
import { endpoint } from './endpoint.ts'

const gateway = { tag: 'Chat completions', auth: 'session_key' } as const

export const listGatewayModels = endpoint({
  ...gateway,
  method: 'GET',
  path: '/v1/models',
  summary: 'Agents that can be talked to, one for each stored profile',
  ok: { status: 200, schema: GatewayModels, description: 'Named `openhands_` and the name of the profile' },
  errors: [],
})

export const chatCompletion = endpoint({
  ...gateway,
  method: 'POST',
  path: '/v1/chat/completions',
  summary: 'Talk to an agent; the header X-OpenHands-ServerConversation-ID names the conversation to go on with',
  body: ChatCompletionRequest,
  ok: {
    status: 200,
    schema: ChatCompletion,
    description: 'What the agent said when it had finished, or a stream of it',
  },
  errors: [400, 404, 409, 500, 503, 504],
})

export const gatewayRows = [listGatewayModels, chatCompletion] as const
