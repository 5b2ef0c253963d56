/** Conversations with hooks: a server process, a scripted model, and the files that the hooks leave. */
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { canary } from './canaries/values.ts'
import type { Loose } from './multi-user-server.ts'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from './scripted-model.ts'
import { startServerProcess, type ServerProcess } from './server-process.ts'
import type { SharedServer } from './shared-server.ts'
import { tempDir, type TempDir } from './temp.ts'
import { until } from './until.ts'

const say = (text: string) => ({ content: [{ type: 'text', text }] })
const RESTING = ['finished', 'error', 'stuck', 'paused']

export class HookBench implements AsyncDisposable {
  readonly dir: TempDir
  readonly dataDir: string
  readonly model: ScriptedModel
  server: ServerProcess
  readonly #isOwn: boolean

  private constructor(dir: TempDir, model: ScriptedModel, { server, dataDir }: SharedServer, isOwn: boolean) {
    this.dir = dir
    this.model = model
    this.server = server
    this.dataDir = dataDir
    this.#isOwn = isOwn
  }

  /** Uses a server that other tests use too. */
  static async on(shared: SharedServer, answers: ScriptedAnswer[]): Promise<HookBench> {
    return new HookBench(await tempDir(), await startScriptedModel({ by: 'turn', answers }), shared, false)
  }

  /** Starts a server of its own, which may be killed. */
  static async alone(answers: ScriptedAnswer[], env: Record<string, string> = {}): Promise<HookBench> {
    const dir = await tempDir()
    const model = await startScriptedModel({ by: 'turn', answers })
    const dataDir = dir.file('data')
    return new HookBench(dir, model, { server: await startServerProcess({ dataDir, env }), dataDir }, true)
  }

  /** Kills the server and starts another one. @param meanwhile runs between the two */
  async restart(meanwhile?: () => Promise<void>): Promise<void> {
    await this.server.kill()
    await meanwhile?.()
    this.server = await startServerProcess({ dataDir: this.dataDir })
  }

  /** Starts a conversation. */
  begin(hook_config: unknown, text: string | null = 'go', more: object = {}) {
    return this.server.call('POST', '/api/conversations', {
      workspace: { working_dir: this.dir.file('work') },
      agent: {
        kind: 'Agent',
        llm: { model: 'openai/scripted', base_url: `${this.model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
        tools: [{ name: 'terminal' }, { name: 'file_editor' }],
      },
      autotitle: false,
      hook_config,
      ...(text === null ? {} : { initial_message: say(text) }),
      ...more,
    })
  }

  /** Starts a conversation and returns its id. */
  async id(hook_config: unknown, text: string | null = 'go'): Promise<string> {
    const { status, body } = await this.begin(hook_config, text)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.id
  }

  send(id: string, text: string) {
    return this.server.call('POST', `/api/conversations/${id}/events`, { role: 'user', ...say(text), run: true })
  }

  async info(id: string): Promise<Loose> {
    return (await this.server.call('GET', `/api/conversations/${id}`)).body
  }

  /** Waits until a run has ended and returns the info of the conversation. */
  async rest(id: string): Promise<Loose> {
    let now: Loose
    await until(async () => RESTING.includes((now = await this.info(id)).execution_status))
    return now
  }

  async events(id: string): Promise<Loose[]> {
    return (await this.server.call('GET', `/api/conversations/${id}/events/search?limit=100`)).body.items
  }

  async of(id: string, kind: string): Promise<Loose[]> {
    return (await this.events(id)).filter((event) => event.kind === kind)
  }

  /** The JSON lines in a file of the workspace. */
  async read(file: string): Promise<Loose[]> {
    const text = await readFile(this.dir.file('work', file), 'utf8')
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }

  /** The text of all requests to the model. */
  get sent(): string {
    return this.model.requests.map(({ text }) => text).join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOwn) await this.server[Symbol.asyncDispose]()
    await this.model[Symbol.asyncDispose]()
    await this.dir[Symbol.asyncDispose]()
  }
}
