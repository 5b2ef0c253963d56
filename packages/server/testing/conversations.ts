/** Helpers for conversations with a scripted model over HTTP: start, wait, read events. */
import { canary } from './canaries/values.ts'
import type { ScriptedModel } from './scripted-model.ts'
import type { TestServer } from './server.ts'
import { until } from './until.ts'

type Caller = Pick<TestServer, 'call'>

/** The LLM record of the scripted model. */
export const llmOf = (model: ScriptedModel, members: object = {}) => ({
  model: 'openai/scripted',
  base_url: `${model.url}/v1`,
  api_key: canary('llm_key'),
  num_retries: 0,
  ...members,
})

/** A start request with a title, because generating one would use an answer of the script. */
export const starting = (model: ScriptedModel, work: string, { agent = {}, ...members }: Record<string, any> = {}) => ({
  workspace: { working_dir: work },
  agent: { kind: 'Agent', llm: llmOf(model), tools: [{ name: 'terminal' }], ...agent },
  autotitle: false,
  ...members,
})

export const message = (text: string) => ({ content: [{ type: 'text', text }] })

/** A started conversation, accessed through the API. */
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
