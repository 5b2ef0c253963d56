/** Servers and conversations for tests of webhooks: a model that finishes at once, and short waits between attempts. */
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { ServerProcess } from '../../packages/server/testing/server-process.ts'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'

/** What came over the wire; a test looks into it freely. */
export type Loose = ReturnType<typeof JSON.parse>

export const SECRET = canary('webhook_secret')

/** The environment of a server that tells `urls`. */
export const telling = (urls: readonly string[], members: Record<string, unknown> = {}): Record<string, string> => ({
  PARLEY_WEBHOOKS: JSON.stringify(
    urls.map((base_url) => ({
      base_url,
      secret: SECRET,
      retry_delay: 0.02,
      flush_delay: 0.2,
      events: false,
      ...members,
    })),
  ),
})

/** The body of a start. Without a message the conversation waits. */
export const starting = (dir: string, model: Pick<ScriptedModel, 'url'>, members: Record<string, unknown> = {}) => ({
  workspace: { working_dir: dir },
  agent: {
    kind: 'Agent',
    llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
    tools: [],
    agent_context: { skills: [{ name: 'a-skill', content: 'in full' }] },
  },
  ...members,
})

export const FINISH = { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }

export const start = async (server: ServerProcess, body: object): Promise<string> => {
  const answer = await server.call('POST', '/api/conversations', body)
  if (answer.status !== 201) throw new Error(`not started: ${JSON.stringify(answer.body)}`)
  return answer.body.id
}
