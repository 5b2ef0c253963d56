/** One crash of a server with calls under way, and the servers that recover it, each from records in another state. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { conversation, llmOf, message, start } from '../../../packages/server/testing/conversations.ts'
import { faultyServer, startReachable } from '../../../packages/server/testing/mcp/servers.ts'
import { processesOf } from '../../../packages/server/testing/processes.ts'
import { REMOTE_KEY } from '../../../packages/server/testing/remote-conversations.ts'
import {
  startScriptedModel,
  type ScriptedModel,
  type ScriptedToolCall,
} from '../../../packages/server/testing/scripted-model.ts'
import { startServerProcess, type ServerProcess } from '../../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../../packages/server/testing/temp.ts'
import { until } from '../../../packages/server/testing/until.ts'
import {
  bashOutcome,
  CALLS,
  commandOf,
  executions,
  fileOf,
  journalOf,
  localCalls,
  outcomeIn,
  remoteCalls,
  type Call,
  type Folders,
  type Seen,
} from './calls.ts'
import { copyTree, ledgerOf, RECORDS, type Records } from './records.ts'

/** `pause`: the conversations are paused first, and run again by a request to the next server. */
export type Ending = 'kill' | 'SIGTERM' | 'pause'
export type CrashSpec = {
  ending: Ending
  runner: 'killed' | 'alive'
  /** The store is copied while the calls are under way. All of them end before the server does, and no result is stored. */
  isCopied?: boolean
  /** The server was started once before, which leaves older records. */
  hasEarlier?: boolean
}

/** Milliseconds for one condition: a crash shares the machine with others. */
const LIMIT_MS = 120_000

/** What all crashes share: a model server, and the agent server whose workspaces are the remote ones. */
export type Surroundings = AsyncDisposable & {
  readonly model: ScriptedModel
  readonly remote: ServerProcess
  /** Folder of the remote conversations. */
  readonly hands: string
  /** Calls of the model's first answer to a conversation that begins with this text. */
  readonly script: Map<string, readonly ScriptedToolCall[]>
}

export async function openSurroundings(): Promise<Surroundings> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const script = new Map<string, readonly ScriptedToolCall[]>()
  const model = stack.use(
    await startScriptedModel({
      respond: ({ view }) => {
        const toolCalls = script.get(view.lastUserText)
        return view.assistantTurns > 0 || toolCalls === undefined ? { text: 'done' } : { toolCalls }
      },
    }),
  )
  const env = { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path }
  const remote = stack.use(await startServerProcess({ dataDir: dir.file('remote'), env }))
  const opened = stack.move()
  return {
    model,
    remote,
    script,
    hands: dir.file('.parley-hands'),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Started = ReturnType<typeof conversation>

export class Crash implements AsyncDisposable {
  readonly #spec: CrashSpec
  readonly #around: Surroundings
  readonly #dir: TempDir
  readonly #folders: Folders
  readonly #stack: AsyncDisposableStack
  #ids: { local: string; remote: string } = { local: '', remote: '' }
  #server: ServerProcess | null = null
  #isRecovered = false

  private constructor(spec: CrashSpec, around: Surroundings, dir: TempDir, stack: AsyncDisposableStack) {
    this.#spec = spec
    this.#around = around
    this.#dir = dir
    this.#stack = stack
    this.#folders = { work: dir.file('work'), gates: dir.file('gates') }
  }

  /** Starts a server, its calls, and ends it. */
  static async open(spec: CrashSpec, around: Surroundings): Promise<Crash> {
    await using unfinished = new AsyncDisposableStack()
    const stack = new AsyncDisposableStack()
    const crash = unfinished.use(new Crash(spec, around, stack.use(await tempDir()), stack))
    if (spec.hasEarlier === true) await crash.#openEarly()
    await crash.#begin()
    await crash.#end()
    crash.#keepCopies()
    unfinished.move()
    return crash
  }

  get #data(): string {
    return this.#dir.file('data')
  }

  /** True when commands outside conversations take part: they cannot be paused. */
  get #hasBash(): boolean {
    return this.#spec.ending !== 'pause'
  }

  async #start(more: Pick<Parameters<typeof startServerProcess>[0], 'crash'> = {}): Promise<ServerProcess> {
    const env = { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '120' }
    return (this.#server = await startServerProcess({ dataDir: this.#data, env, ...more }))
  }

  /** A start before the one that crashes: its ledger and mark are the older records. */
  async #openEarly(): Promise<void> {
    const server = await this.#start()
    await server.call('POST', '/api/bash/execute_bash_command', { command: 'true' })
    await server[Symbol.asyncDispose]()
    copyTree(join(this.#data, 'runner'), this.#dir.file('copies', 'early'))
  }

  async #begin(): Promise<void> {
    const { ending, isCopied } = this.#spec
    for (const folder of Object.values(this.#folders)) mkdirSync(folder)
    for (const call of CALLS) if (call.includes('editor')) writeFileSync(fileOf(call, this.#folders), 'first\n')
    const dies = ending === 'kill' && !isCopied
    const server = await this.#start(dies ? { crash: { at: 'bash:bash-waiting', when: 'after' } } : {})
    if (this.#hasBash) {
      for (const call of ['bash-ended', 'bash-running'] as const) {
        const command = commandOf(call, this.#folders)
        expect(await server.call('POST', '/api/bash/start_bash_command', { command })).toMatchObject({ status: 200 })
      }
      await this.#areExecuted('bash-ended', 'bash-running')
    }
    const [remote, local] = await Promise.all([this.#startRemote(server), this.#startLocal(server)])
    this.#ids = { remote: remote.id, local: local.id }
    await this.#areExecuted('remote-ended', 'remote-running', 'remote-editor-ended')
    await this.#areExecuted('http-running', 'stdio-running', 'stdio-ended', 'terminal-ended', 'editor-ended')
    // The newest intent in the ledger is that of this command, as the rows with a damaged ledger assume.
    await this.#areExecuted('terminal-running')
    if (isCopied === true) await this.#copyAndContinue()
    if (ending !== 'pause') return
    for (const each of [remote, local]) expect((await each.post('pause')).status).toBe(200)
  }

  /** The calls that wait have their turn when the commands before them end. */
  async #copyAndContinue(): Promise<void> {
    const copy = this.#dir.file('copies', 'running')
    mkdirSync(copy, { recursive: true })
    const live = new DatabaseSync(join(this.#data, 'parley.db'), { readOnly: true })
    await backup(live, join(copy, 'parley.db'))
    live.close()
    const before = this.#ends()
    const commands = ['terminal-running', 'terminal-waiting', 'bash-running', 'bash-ended'] as const
    this.#open(...commands, 'remote-running')
    await this.#areExecuted(...CALLS.filter((call) => call !== 'bash-waiting'))
    await until(() => this.#ends() >= before + commands.length, LIMIT_MS)
    await this.#remoteEnds()
  }

  /** Resolves when the newest command in the remote workspace has ended. */
  async #remoteEnds(): Promise<void> {
    const folder = join(this.#around.hands, this.#ids.remote)
    const job = readFileSync(join(folder, 'current'), 'utf8').trim()
    await until(() => existsSync(join(folder, 'jobs', job, 'exit')), LIMIT_MS)
  }

  async #areExecuted(...calls: Call[]): Promise<void> {
    await until(() => calls.every((call) => executions(call, this.#folders) === 1), LIMIT_MS)
  }

  async #startLocal(server: ServerProcess): Promise<Started> {
    const web = this.#stack.use(await startReachable('streamableHttp', this.#mcpServer('http')))
    const mcp_config = { web: web.config, program: this.#mcpServer('stdio') }
    return this.#startOne(server, {
      name: 'local',
      calls: localCalls(this.#folders),
      agent: { mcp_config, tool_concurrency_limit: 3 },
      workspace: { working_dir: this.#dir.file('work', 'local') },
    })
  }

  async #startRemote(server: ServerProcess): Promise<Started> {
    const program = faultyServer('fine', this.#dir.file('work', 'remote.journal'))
    const web = this.#stack.use(await startReachable('streamableHttp', program))
    const working_dir = this.#dir.file('work', 'remote')
    const { remote } = this.#around
    return this.#startOne(server, {
      name: 'remote',
      calls: remoteCalls(this.#folders),
      agent: { mcp_config: { web: web.config }, tool_concurrency_limit: 2 },
      workspace: { kind: 'RemoteWorkspace', working_dir, host: remote.url, api_key: REMOTE_KEY },
    })
  }

  #mcpServer(kind: 'stdio' | 'http') {
    return faultyServer('fine', journalOf(kind, this.#folders))
  }

  #startOne(
    server: ServerProcess,
    { name, calls, agent, workspace }: { name: string; calls: ScriptedToolCall[]; agent: object; workspace: object },
  ): Promise<Started> {
    const { model, script } = this.#around
    const text = `${this.#dir.path} ${name}`
    script.set(text, calls)
    return start(server, {
      workspace,
      agent: { kind: 'Agent', llm: llmOf(model), tools: [{ name: 'terminal' }, { name: 'file_editor' }], ...agent },
      autotitle: false,
      initial_message: message(text),
    })
  }

  async #end(): Promise<void> {
    const { ending, runner, isCopied } = this.#spec
    const server = this.#server!
    if (isCopied === true) {
      await server.kill()
      return this.#killRunner()
    }
    if (ending === 'kill') {
      // The server kills itself when this command is stored and has not begun.
      const command = commandOf('bash-waiting', this.#folders)
      await server.call('POST', '/api/bash/start_bash_command', { command }).catch(() => undefined)
    } else server.process.kill('SIGTERM')
    await server.exited
    if (this.#hasBash) {
      const before = this.#ends()
      this.#open('bash-ended')
      await until(() => this.#ends() > before, LIMIT_MS)
    }
    if (runner === 'alive') return
    // A command in a remote workspace ends while no server follows it.
    this.#open('remote-running')
    await this.#remoteEnds()
    await this.#killRunner()
  }

  /** Number of calls whose end is in the ledger of the runner. */
  #ends(): number {
    return readFileSync(ledgerOf({ data: this.#data }), 'utf8').match(/"t":"end"/g)?.length ?? 0
  }

  #open(...calls: Call[]): void {
    for (const call of calls) writeFileSync(join(this.#folders.gates, call), '')
  }

  async #killRunner(): Promise<void> {
    const find = async () => (await processesOf(this.#data, this.#data)).find(({ isRunner }) => isRunner)
    const runner = await find()
    if (runner === undefined) return
    process.kill(runner.pid, 'SIGKILL')
    await until(async () => (await find())?.pid !== runner.pid, LIMIT_MS)
  }

  #keepCopies(): void {
    for (const [name, path] of Object.entries(this.#changing())) copyTree(path, this.#dir.file('copies', name))
  }

  /** Everything that a recovery changes. */
  #changing(): Record<'crash' | 'work' | 'remote', string> {
    return { crash: this.#data, work: this.#folders.work, remote: join(this.#around.hands, this.#ids.remote) }
  }

  /**
   * Recovers from records in this state, and returns what became of each call. Every recovery begins with the state at the crash;
   * `newer` continues the one before, which has to be that of intact records.
   */
  async recover(records: Records): Promise<Partial<Record<Call, Seen>>> {
    if (this.#isRecovered) await this.#rewind(records)
    this.#isRecovered = true
    const { ending, runner } = this.#spec
    const copy = (name: string) => this.#dir.file('copies', name)
    await RECORDS[records]({ data: this.#data, copy, scratch: this.#dir.file('copies', 'scratch') })
    const server = await this.#start()
    const conversations = [this.#ids.local, this.#ids.remote].map((id) => conversation(server, id))
    if (ending === 'pause') for (const each of conversations) expect((await each.post('run')).status).toBe(200)
    if (runner === 'alive') this.#open('terminal-running', 'bash-running', 'remote-running')
    const seen: Partial<Record<Call, Seen>> = {}
    const see = (call: Call, outcome: string) => {
      seen[call] = { outcome, executions: executions(call, this.#folders) }
    }
    for (const each of conversations) await each.is('finished', 'error', 'stuck')
    const [local = [], remote = []] = await Promise.all(conversations.map((each) => each.events()))
    if (this.#hasBash) for (const [call, outcome] of await this.#bashOutcomes(server)) see(call, outcome)
    for (const call of CALLS) {
      if (call.startsWith('bash')) continue
      see(call, outcomeIn(call.startsWith('remote') ? remote : local, call))
    }
    await server.kill()
    this.#server = null
    return seen
  }

  async #rewind(records: Records): Promise<void> {
    if (this.#spec.runner === 'killed') await this.#killRunner()
    if (records === 'newer') return
    if (this.#spec.runner === 'alive') throw new Error('the commands of a living runner cannot be put back')
    for (const [name, path] of Object.entries(this.#changing())) {
      rmSync(path, { recursive: true, force: true })
      copyTree(this.#dir.file('copies', name), path)
    }
  }

  async #bashOutcomes(server: ServerProcess): Promise<[Call, string][]> {
    const search = async (query: string) =>
      (await server.call('GET', `/api/bash/bash_events/search?limit=100&${query}`)).body.items as any[]
    const found: [Call, string][] = []
    for (const { id, command } of await search('kind__eq=BashCommand')) {
      const call = CALLS.find((each) => each.startsWith('bash') && String(command).includes(`/${each};`))
      if (call === undefined) continue
      const outputs = () => search(`kind__eq=BashOutput&command_id__eq=${id}`)
      await until(async () => (await outputs()).some(({ exit_code }) => exit_code !== null), LIMIT_MS)
      found.push([call, bashOutcome(await outputs())])
    }
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.kill()
    // What a killed runner has left ends by itself.
    if (existsSync(this.#folders.gates)) this.#open(...CALLS)
    await this.#killRunner()
    await this.#stack.disposeAsync()
  }
}
