/** Helpers for starts of conversations: a server with a git host and a scripted model, called as the user ann. */
import { canary } from './canaries/values.ts'
import type { GitServer } from './git-server.ts'
import type { ScriptedAnswer, ScriptedModel } from './scripted-model.ts'
import { until } from './until.ts'
import { wholeLog } from './whole-log.ts'
import { serve, type Answered, type Loose } from './multi-user-server.ts'

export const run = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })
export const finish: ScriptedAnswer = { toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }

export type Ann = AsyncDisposable & {
  url: string
  stderr(): string
  kill(): Promise<void>
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** Calls as another user. */
  asBob(method: string, path: string, body?: unknown): Promise<Answered>
  /** Calls New Conversation and waits until the conversation does not run. */
  begin(body: object): Promise<Loose>
  /** Calls New Conversation and returns the id at once. */
  create(body: object): Promise<string>
  progress(id: string): Promise<Loose>
  /** Waits for a progress that satisfies `holds`. */
  progressWhen(id: string, holds: (progress: Loose) => boolean): Promise<Loose>
  info(id: string): Promise<Loose>
  /** The log, with the phases of the start. */
  events(id: string): Promise<Loose[]>
  settings(settings: object): Promise<Answered>
}

/** Starts a server with the git server as gitlab and the scripted model. */
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
    events: (id) => wholeLog(serving.server.url, id, ann),
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
