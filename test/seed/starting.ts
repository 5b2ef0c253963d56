/** What tests of a conversation's start share: a server that knows a git host and a scripted model, asked as the user ann. */
import { canary } from '../../packages/server/testing/canaries/values.ts'
import type { GitServer } from '../../packages/server/testing/git-server.ts'
import type { ScriptedAnswer, ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { until } from '../crash/watching.ts'
import { serve, type Answered, type Loose } from './serving.ts'

export const run = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })
export const finish: ScriptedAnswer = { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }

export type Ann = AsyncDisposable & {
  url: string
  stderr(): string
  kill(): Promise<void>
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** As another user. */
  asBob(method: string, path: string, body?: unknown): Promise<Answered>
  /** New Conversation, answered when it has come to rest. */
  begin(body: object): Promise<Loose>
  /** New Conversation, answered at once; its id. */
  create(body: object): Promise<string>
  progress(id: string): Promise<Loose>
  /** The progress once `holds` says yes to it. */
  progressWhen(id: string, holds: (progress: Loose) => boolean): Promise<Loose>
  info(id: string): Promise<Loose>
  events(id: string): Promise<Loose[]>
  settings(settings: object): Promise<Answered>
}

/** A server whose gitlab is the git server, and whose model is the scripted one. */
export async function serveAnn(
  dataDir: string,
  { git, model }: { git?: GitServer; model: ScriptedModel },
  env: Record<string, string> = {},
): Promise<Ann> {
  const serving = await serve(dataDir, {
    ...(git === undefined ? {} : { PARLEY_GIT_HOSTS: JSON.stringify({ gitlab: git.url }) }),
    PARLEY_LLM_MODEL: 'openai/scripted',
    PARLEY_LLM_API_KEY: canary('llm_key'),
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
    ...env,
  })
  const { ann, bob } = serving.keys
  const call: Ann['call'] = (method, path, body, headers = {}) =>
    serving.call(method, path, body, { key: ann, headers })
  const at = (id: string, rest = '') => `/api/conversations/${id}${rest}`
  const progress = async (id: string) => (await call('GET', at(id, '/status'))).json
  return {
    url: serving.server.url,
    stderr: () => serving.server.stderr(),
    kill: () => serving.server.kill(),
    call,
    asBob: (method, path, body) => serving.call(method, path, body, { key: bob }),
    begin: async (body) => (await call('POST', '/api/conversations', body, { prefer: 'wait=30' })).json,
    create: async (body) => (await call('POST', '/api/conversations', body)).json.conversation_id,
    progress,
    async progressWhen(id, holds) {
      let now: Loose
      await until(async () => holds((now = await progress(id))))
      return now
    },
    info: async (id) => (await call('GET', at(id))).json,
    events: async (id) => (await call('GET', at(id, '/events/search?limit=100'))).json.items,
    settings: (settings) => call('POST', '/api/settings', settings),
    [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose](),
  }
}

/** `phase status` of every recorded step of a start, in order. */
export const phasesOf = (events: Loose[]): string[] =>
  events.filter(({ key }) => key === 'start_phase').map(({ value }) => `${value.phase} ${value.status}`)

export const userTexts = (events: Loose[]): string[] =>
  events
    .filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user')
    .map(({ llm_message }) => llm_message.content.map((part: Loose) => part.text ?? part.image_urls.join()).join('|'))

export const outputs = (events: Loose[]): string[] =>
  events
    .filter(({ kind, tool_name }) => kind === 'ObservationEvent' && tool_name === 'terminal')
    .map(({ observation }) => observation.content[0]?.text ?? '')
