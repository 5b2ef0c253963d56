/** Conversations with sub-agents: one scripted model for all, which recognises an agent by the beginning of its prompt. */
import { startScriptedModel, type ModelRequest, type ScriptedAnswer } from './scripted-model.ts'
import { conversation, llmOf, starting } from './conversations.ts'
import type { TestServer } from './server.ts'

/** Price of every answer in US dollars, for a thousand tokens. */
export const PRICE = 0.01

/** Answers of each agent, by the marker at the beginning of its newest prompt: `[parent] …`. */
export type Scripts = Record<
  string,
  readonly (ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>))[]
>

export async function startScripts(scripts: Scripts) {
  return startScriptedModel({
    async respond(request) {
      const { marker, turn } = placeOf(request)
      const found = scripts[marker]?.[turn]
      if (found === undefined) return { status: 400, error: `no answer ${turn} for [${marker}]` }
      const answer = typeof found === 'function' ? await found(request) : found
      return { usage: { input: 1000, output: 0 }, ...answer }
    },
  })
}

/** The marker of the prompt that a request continues, and the number of its earlier answers. */
export function placeOf({ body }: Pick<ModelRequest, 'body'>): { marker: string; turn: number } {
  let marker = ''
  let turn = 0
  for (const { role, content } of body['messages'] as { role: string; content: unknown }[]) {
    const text = typeof content === 'string' ? content : JSON.stringify(content ?? '')
    const found = role === 'user' ? /\[([a-z][\w-]*)\]/.exec(text) : null
    if (found !== null) [marker, turn] = [found[1]!, 0]
    else if (role === 'assistant') turn += 1
  }
  return { marker, turn }
}

export const task = (prompt: string, more: object = {}): ScriptedAnswer => tasks([prompt, more])

/** Several tasks in one answer. */
export const tasks = (...of: readonly (readonly [prompt: string, more?: object])[]): ScriptedAnswer => ({
  text: '',
  toolCalls: of.map(([prompt, more]) => ({ name: 'task', arguments: { prompt, ...more } })),
})

/** The task id in the text of a request. */
export const toldTask = ({ text }: ModelRequest): string => /task_[0-9a-f]{8}/.exec(text)?.[0] ?? 'none'

export const delegate = (args: Record<string, unknown>): ScriptedAnswer => ({
  text: '',
  toolCalls: [{ name: 'delegate', arguments: args }],
})

export const run = (command: string): ScriptedAnswer => ({
  text: '',
  toolCalls: [{ name: 'terminal', arguments: { command } }],
})

export const finish = (message: string): ScriptedAnswer => ({
  text: '',
  toolCalls: [{ name: 'finish', arguments: { message } }],
})

type Model = Awaited<ReturnType<typeof startScripts>>

/** A start request for an agent with the sub-agent tools, whose answers cost `PRICE` each. */
export const parent = (model: Model, work: string, { agent = {}, ...members }: Record<string, any> = {}) =>
  starting(model, work, {
    initial_message: { content: [{ type: 'text', text: '[parent] go' }] },
    agent: {
      llm: llmOf(model, { input_cost_per_token: PRICE / 1000, output_cost_per_token: 0 }),
      tools: [{ name: 'terminal' }, { name: 'task_tool_set' }, { name: 'delegate' }],
      tool_concurrency_limit: 4,
      ...agent,
    },
    ...members,
  })

/** The sub-agents of a conversation, as clients read them. */
export async function childrenOf(server: Pick<TestServer, 'call'>, id: string) {
  const { sub_conversation_ids } = (await server.call('GET', `/api/conversations/${id}`)).body
  const ids = sub_conversation_ids as string[]
  return Promise.all(
    ids.map(async (child) => ({ ...conversation(server, child), now: await conversation(server, child).info() })),
  )
}

/** Costs in the stats of a ConversationInfo, per usage and in total. */
export function costsOf(info: any): { total: number; by: Record<string, number> } {
  const by: Record<string, number> = {}
  for (const [usage, metrics] of Object.entries<any>(info.stats.usage_to_metrics)) by[usage] = metrics.accumulated_cost
  return { total: cents(Object.values(by).reduce((sum, cost) => sum + cost, 0)), by }
}

export const cents = (usd: number): number => Math.round(usd * 1e6) / 1e6

export const textOf = (event: any): string =>
  (event.observation?.content ?? []).map((part: { text?: string }) => part.text ?? '').join('')
