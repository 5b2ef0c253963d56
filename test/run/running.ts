/** Conversations with a scripted model, over HTTP: starting one, waiting for it, looking at its events. */
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import type { TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../crash/watching.ts'

type Caller = Pick<TestServer, 'call'>

/** The record of the scripted model's own LLM. */
export const llmOf = (model: ScriptedModel, members: object = {}) => ({
  model: 'openai/scripted',
  base_url: `${model.url}/v1`,
  api_key: canary('llm_key'),
  num_retries: 0,
  ...members,
})

/** A start request; without a title of its own making, which would take an answer of a script. */
export const starting = (model: ScriptedModel, work: string, { agent = {}, ...members }: Record<string, any> = {}) => ({
  workspace: { working_dir: work },
  agent: { kind: 'Agent', llm: llmOf(model), tools: [{ name: 'terminal' }], ...agent },
  autotitle: false,
  ...members,
})

export const message = (text: string) => ({ content: [{ type: 'text', text }] })

/** A started conversation, seen through the API. */
export function conversation(server: Caller, id: string) {
  const at = `/api/conversations/${id}`
  const info = async () => (await server.call('GET', at)).body
  const events = async (): Promise<any[]> => {
    const found: any[] = []
    for (let page: string | null = ''; page !== null;) {
      const query: string = page === '' ? '' : `?page_id=${page}`
      const { body } = await server.call('GET', `${at}/events/search${query}`)
      found.push(...body.items)
      page = body.next_page_id
    }
    return found
  }
  return {
    id,
    info,
    events,
    kinds: async (kind: string) => (await events()).filter((event) => event.kind === kind),
    say: (text: string, run = true) => server.call('POST', `${at}/events`, { ...message(text), run }),
    post: (action: string, body?: object) => server.call('POST', `${at}/${action}`, body),
    is: (...statuses: string[]) => until(async () => statuses.includes((await info()).execution_status), 120_000),
  }
}

export async function start(server: Caller, request: object) {
  const { status, body } = await server.call('POST', '/api/conversations', request)
  if (status !== 201) throw new Error(`not started: ${status} ${JSON.stringify(body)}`)
  return conversation(server, body.id)
}
