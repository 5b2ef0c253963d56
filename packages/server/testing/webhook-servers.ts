/** Servers and conversations for webhook tests, with short waits between attempts. */
import { canary } from './canaries/values.ts'
import type { ServerProcess } from './server-process.ts'
import type { ScriptedModel } from './scripted-model.ts'

/** Parsed JSON without a type. */
export type Loose = ReturnType<typeof JSON.parse>

export const WEBHOOK_SECRET = canary('webhook_secret')

/** Environment of a server with webhook targets at `urls`. */
export const webhookEnv = (urls: readonly string[], members: Record<string, unknown> = {}): Record<string, string> => ({
  PARLEY_WEBHOOKS: JSON.stringify(
    urls.map((base_url) => ({
      base_url,
      secret: WEBHOOK_SECRET,
      retry_delay: 0.02,
      flush_delay: 0.2,
      events: false,
      ...members,
    })),
  ),
})

/** Body of a start request. Without a message, the conversation stays idle. */
export const startRequest = (
  dir: string,
  model: Pick<ScriptedModel, 'url'>,
  members: Record<string, unknown> = {},
) => ({
  workspace: { working_dir: dir },
  agent: {
    kind: 'Agent',
    llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
    tools: [],
    agent_context: { skills: [{ name: 'a-skill', content: 'in full' }] },
  },
  ...members,
})

/** An answer of the model that finishes at once. */
export const FINISH = { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }

export const startConversation = async (server: ServerProcess, body: object): Promise<string> => {
  const answer = await server.call('POST', '/api/conversations', body)
  if (answer.status !== 201) throw new Error(`not started: ${JSON.stringify(answer.body)}`)
  return answer.body.id
}
