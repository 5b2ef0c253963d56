/** A workspace on this machine: commands through the runner, files directly. */
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { ParleyError, type Place } from '@parley/protocol'
import type { Account } from './account/account.ts'
import { abortable, isInside, type Backoff } from '../lib/index.ts'
import { listFolder, readWhole, realPathOf, removeOne, statFile, writeWhole, type Target } from './files.ts'
import type { AskOptions, RunnerClient } from './runner-client.ts'
import type { RequestBody } from './runner-link.ts'
import { attachProcess } from './runner-process.ts'
import { isNotRecorded, untilRecorded } from './not-recorded.ts'
import { confinedPath, type Confinement } from './confined.ts'
import type { Roots } from './roots/roots.ts'
import { changedVariables, PRINT_VARIABLES, type ShellEnvironment } from './shell-environment.ts'
import { factsOf } from './facts.ts'
import { surroundingsOf } from './surroundings.ts'
import { INSIDE, type BoxFolders } from './runner/sandbox/mounts.ts'
import type {
  Box,
  ExecAnswer,
  LedgerAnswer,
  ProcessSpec,
  Scope,
  SpawnAnswer,
  TerminalAnswer,
} from './runner/ipc/protocol.ts'
import type {
  ExecRequest,
  ExecResult,
  FileStat,
  LedgerEntry,
  Process,
  TerminalRequest,
  TerminalResult,
  Workspace,
  WorkspaceFacts,
  WorkspaceSpec,
} from './workspace.ts'

/** Milliseconds for the set-up file. */
const SETUP_MS = 20_000
const DEFAULT_MAX_BYTES = 1024 * 1024
/** Milliseconds that an interrupt waits for the runner; a stopped runner sends the Ctrl-C when it continues. */
const INTERRUPT_MS = 3_000

/** `real`: real path of the working directory when it was opened. */
export type LocalSpec = Omit<WorkspaceSpec, 'remote' | 'owner'> & { real: string }

export type LocalDeps = {
  client: RunnerClient
  /** False when no runner has ever run in this data directory; every call is then `absent`. */
  hasLedger: () => boolean
  /** True while there are records of a runner of another version, which may still have commands. */
  hasOtherRunner: () => boolean
  /** Replaces `absent` by `unknown` where the absence proves nothing. */
  proven: (entries: Record<string, LedgerEntry>) => Promise<Record<string, LedgerEntry>>
  /** Ends the processes of a conversation, with or without a living runner. */
  release: (scope: { conversation: string; epoch: number | null }) => Promise<void>
  /** Sandbox of commands; null: none. */
  sandbox: Omit<Box, 'workspace' | 'folder'> | null
  /** The directories that the owner may reach. */
  roots: Roots
  /** Commands and programs of the owner. `refusal`: why no other one may start; null when one may. Null: they are not counted. */
  processes: { refusal: () => ParleyError | null; add: () => Disposable } | null
  /** Folders of the conversation outside of its working directory; null: its commands can use those of the server. */
  own: (() => BoxFolders) | null
  /** Confinement of file operations to the same sandbox; null: none. */
  confinement: Confinement | null
  /** Variables and set-up file of the operator. */
  shell: ShellEnvironment
  /** Waits between repetitions of a request that could not be recorded. */
  backoff?: Backoff | undefined
  /** Longest such repetition, in milliseconds, of a program without a time limit; undefined: until it is aborted. */
  waitMs: number | undefined
  log?: { warn: (fields: object, text: string) => void } | undefined
}

export class LocalWorkspace implements Workspace {
  readonly workingDir: string
  readonly #scope: Scope
  /** Real path of the working directory. */
  readonly #real: string
  readonly #deps: LocalDeps
  readonly #env: NonNullable<WorkspaceSpec['env']>
  /** Calls whose request got no answer; they may have begun. */
  readonly #unanswered = new Set<string>()
  #afterSetup: Promise<Record<string, string>> | null = null
  readonly account: Account | null
  readonly isOpen: boolean
  readonly keepText?: NonNullable<Workspace['keepText']>
  readonly privateDir?: string

  constructor({ conversationId, workingDir, real, epoch, env = async () => ({}) }: LocalSpec, deps: LocalDeps) {
    this.workingDir = workingDir
    this.#real = real
    this.#scope = { conversation: conversationId, epoch }
    this.#deps = deps
    this.#env = env
    const { own, confinement } = deps
    const account = (this.account = deps.roots.account)
    this.isOpen = confinement === null
    if (own === null) return
    this.privateDir = confinement === null ? own().home : INSIDE.home
    this.keepText = async (name, text, signal) => {
      const { kept } = own()
      const path = join(kept, basename(name))
      await writeWhole({ path, account, real: async () => path }, Buffer.from(text), signal)
      return confinement === null ? path : join(INSIDE.kept, basename(name))
    }
  }

  facts = (): Promise<WorkspaceFacts> => factsOf(this.#real, this.#deps.roots)

  /**
   * Aborting ends a program without call id, because no later request could refer to it. One with a call id continues until its
   * time limit or the release; a request with the same call id attaches to it.
   */
  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] }
    const { stdin, timeoutMs, maxBytes, callId } = request
    const spec = {
      ...(await this.#process(request, signal)),
      stdin: stdin === undefined ? null : Buffer.from(stdin).toString('base64'),
      timeoutMs: timeoutMs ?? null,
      maxBytes: maxBytes ?? DEFAULT_MAX_BYTES,
    }
    const body = { op: 'exec' as const, ...this.#scope, call: callId ?? null, spec }
    const onChunk: AskOptions['onChunk'] = (stream, data) => chunks[stream].push(data)
    const answer = (await this.#ask(callId, body, signal, { onChunk }, timeoutMs)) as ExecAnswer
    const text = (stream: 'stdout' | 'stderr') => Buffer.concat(chunks[stream]).toString('utf8')
    return { ...answer, stdout: text('stdout'), stderr: text('stderr') }
  }

  /** Aborting ends the waiting; the command continues until `interrupt` or `release`. */
  async terminal(
    request: TerminalRequest,
    signal: AbortSignal,
    onOutput?: (text: string) => void,
  ): Promise<TerminalResult> {
    const chunks: Buffer[] = []
    const body = {
      op: 'terminal' as const,
      ...this.#scope,
      spec: {
        ...request,
        ...(onOutput === undefined ? {} : { isLive: true }),
        env: { ...this.#deps.shell.passed, ...(await this.#env()), ...request.env },
        setup: this.#deps.shell.setup,
        cwd: this.workingDir,
        box: await this.#box(this.#real),
      },
    }
    const answer = (await this.#ask(request.callId, body, signal, {
      onChunk: (_, data) => chunks.push(data),
      ...(onOutput === undefined ? {} : { onLive: onOutput }),
    })) as TerminalAnswer
    return { ...answer, output: Buffer.concat(chunks).toString('utf8') }
  }

  /** A program without call id ends with the connection of this server; a program with one can be attached to again. */
  async spawn(
    request: Omit<ExecRequest, 'stdin' | 'timeoutMs' | 'maxBytes' | 'folder'>,
    signal: AbortSignal,
  ): Promise<Process> {
    const { client } = this.#deps
    let held: Process | null = null
    const spec = await this.#process(request, signal)
    const body = { op: 'spawn' as const, ...this.#scope, call: request.callId ?? null, spec }
    await this.#ask(request.callId, body, signal, {
      onOk: (answer, link) => (held = attachProcess(answer as SpawnAnswer, link, client)),
    })
    if (held === null) throw new Error('the runner answered without a process')
    const running: Process = held
    const counted = this.#deps.processes?.add()
    void running.exited.then(() => counted?.[Symbol.dispose]())
    return running
  }

  /**
   * Sends the request of a call. A repeated request attaches to the call, unless the ledger that knew it was replaced.
   * @param limitMs time limit of its program, which is also the longest wait for space on a full disk
   * @throws ParleyError `conflict` with the reason `unknown_outcome` in that case; `rate_limited`.
   */
  async #ask(
    callId: string | undefined,
    body: RequestBody,
    signal: AbortSignal,
    on: AskOptions,
    limitMs?: number,
  ): Promise<unknown> {
    using _counted = await this.#counted(callId, signal)
    const { client, waitMs } = this.#deps
    const ask = () => this.#untilRecorded(() => client.ask(body, signal, on), signal, limitMs ?? waitMs)
    if (callId === undefined) return ask()
    if (this.#unanswered.has(callId) && (await this.ledger([callId], signal))[callId]?.state === 'unknown') {
      const message = `the runner lost its record of call ${callId}; its outcome cannot be known`
      throw new ParleyError('conflict', message, { details: { reason: 'unknown_outcome' } })
    }
    this.#unanswered.add(callId)
    const answer = await ask()
    this.#unanswered.delete(callId)
    return answer
  }

  /**
   * Counts a call until it is answered. A call that has begun already is counted, and never refused.
   * @throws ParleyError `rate_limited`
   */
  async #counted(callId: string | undefined, signal: AbortSignal): Promise<Disposable | undefined> {
    const { processes } = this.#deps
    const refusal = processes?.refusal() ?? null
    if (refusal !== null) {
      const state = callId === undefined ? 'absent' : (await this.ledger([callId], signal))[callId]?.state
      if (state === 'absent') throw refusal
    }
    return processes?.add()
  }

  /** Repeats a request that has had no effect, because its record could not be written. */
  #untilRecorded<T>(send: () => Promise<T>, signal: AbortSignal, limitMs?: number): Promise<T> {
    const { backoff, log } = this.#deps
    const conversation_id = this.#scope.conversation
    const onRefused = (attempt: number, err: unknown) =>
      log?.warn({ conversation_id, attempt, err }, 'request not recorded by the runner, to be repeated')
    return untilRecorded(send, { signal, limitMs, backoff, onRefused })
  }

  async ledger(callIds: readonly string[], signal: AbortSignal): Promise<Record<string, LedgerEntry>> {
    if (callIds.length === 0) return {}
    const { hasLedger, proven } = this.#deps
    if (!hasLedger()) return proven(Object.fromEntries(callIds.map((id) => [id, { state: 'absent' }])))
    const body = { op: 'ledger' as const, ...this.#scope, calls: callIds }
    const answer = await this.#untilRecorded(() => this.#askAgain(body, signal), signal)
    return proven((answer as LedgerAnswer).entries)
  }

  /** Asks the next runner when the one that was asked has ended meanwhile. For requests without an effect. */
  async #askAgain(body: RequestBody, signal: AbortSignal): Promise<unknown> {
    const ask = () => this.#deps.client.ask(body, signal)
    return ask().catch((error: unknown) => {
      if (!(error instanceof ParleyError) || error.code !== 'unavailable' || isNotRecorded(error)) throw error
      return ask()
    })
  }

  warmUp(): void {
    this.#deps.client.connect()
  }

  async interrupt(): Promise<void> {
    const { client, hasOtherRunner } = this.#deps
    const body = { op: 'interrupt' as const, ...this.#scope }
    const signal = AbortSignal.timeout(INTERRUPT_MS)
    await (hasOtherRunner() ? client.ask(body, signal) : client.askIfRunning(body, signal))
  }

  async release(): Promise<void> {
    await this.#deps.release(this.#scope)
  }

  async #process(
    { argv, cwd, env, folder, isOwn }: Pick<ExecRequest, 'argv' | 'cwd' | 'env' | 'folder' | 'isOwn'>,
    signal: AbortSignal,
  ): Promise<ProcessSpec> {
    const { at, writable } = await this.#place(cwd)
    const box = await this.#box(writable)
    const ofSetup = await abortable(this.#variables(), signal)
    return {
      argv,
      cwd: at,
      env: { ...this.#deps.shell.passed, ...ofSetup, ...(await this.#env()), ...env },
      box: box === null ? null : { ...box, ...(folder !== undefined && { folder }), ...(isOwn === true && { isOwn }) },
    }
  }

  /**
   * Where a program starts, and the directory that it may write. A command that the server runs in another directory may write there,
   * and not in the working directory. @throws RefusedPath
   */
  async #place(cwd: string | undefined): Promise<{ at: string; writable: string }> {
    const at = cwd === undefined ? this.workingDir : this.resolve(cwd)
    // Whatever a link in the working directory leads to, its sandbox shows the working directory alone as writable.
    if (isInside(this.workingDir, at)) return { at, writable: this.#real }
    const real = await this.directory(at, ['cwd'])
    return { at: real, writable: real }
  }

  /** The variables that the set-up file changes, for programs without a shell. Found out once, unless no program could be started. */
  #variables(): Promise<Record<string, string>> {
    const { shell, confinement } = this.#deps
    if (shell.setup === null) return Promise.resolve({})
    return (this.#afterSetup ??= this.#readSetup(confinement === null ? shell.setup : INSIDE.setup).catch(
      (error: unknown) => {
        this.#afterSetup = null
        throw error
      },
    ))
  }

  async #readSetup(file: string): Promise<Record<string, string>> {
    const chunks: Buffer[] = []
    const argv = ['bash', '-c', PRINT_VARIABLES, 'bash', file]
    const spec = { argv, cwd: this.workingDir, env: this.#deps.shell.passed, box: await this.#box(this.#real) }
    const limits = { stdin: null, timeoutMs: SETUP_MS, maxBytes: DEFAULT_MAX_BYTES }
    const body = { op: 'exec' as const, ...this.#scope, call: null, spec: { ...spec, ...limits } }
    const onChunk: AskOptions['onChunk'] = (stream, data) => stream === 'stdout' && chunks.push(data)
    const never = new AbortController().signal
    const { exit_code } = (await this.#ask(undefined, body, never, { onChunk }, SETUP_MS)) as ExecAnswer
    const changed = exit_code === 0 ? changedVariables(Buffer.concat(chunks).toString()) : null
    if (changed === null)
      this.#deps.log?.warn({ file: this.#deps.shell.setup, exit_code }, 'set-up file of shells failed')
    return changed ?? {}
  }

  /** @param workspace real path */
  async #box(workspace: string): Promise<Box | null> {
    const { sandbox, roots } = this.#deps
    if (sandbox === null) return null
    const { setup } = this.#deps.shell
    return { ...sandbox, ...(setup !== null && { setup }), ...(await surroundingsOf(workspace, roots)), workspace }
  }

  /** The file at `path`, if commands could access it too. */
  #target(path: string, how: { writes?: boolean; isLink?: boolean } = {}): Target {
    const { confinement, roots } = this.#deps
    const absolute = this.resolve(path)
    const real = async () =>
      confinement === null
        ? roots.unsandboxed(absolute, this.#besides(), how)
        : confinedPath(confinement(await surroundingsOf(this.#real, roots)), absolute, how)
    return { path: absolute, account: this.account, real }
  }

  /** Folders in the data directory that the files of this conversation are in. */
  #besides(): string[] {
    const { own } = this.#deps
    if (own !== null) return [join('runner', 'boxes', basename(dirname(own().home)))]
    return ['plugins', join('conversations', this.#scope.conversation)]
  }

  directory(path: string, at: Place): Promise<string> {
    return this.#deps.roots.directory(this.resolve(path), at)
  }

  async ownFile(path: string): Promise<string | null> {
    const { confinement, roots } = this.#deps
    const isOwn = [INSIDE.home, INSIDE.tmp].some((folder) => isInside(folder, path))
    if (confinement === null || !isOwn) return null
    return confinedPath(confinement(await surroundingsOf(this.#real, roots)), path, { writes: true })
  }

  resolve(path: string): string {
    return isAbsolute(path) ? resolve(path) : join(this.workingDir, path)
  }

  async stat(path: string, signal: AbortSignal): Promise<FileStat | null> {
    signal.throwIfAborted()
    return statFile(this.#target(path))
  }

  async realPath(path: string, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted()
    return realPathOf(this.#target(path))
  }

  async readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted()
    return readWhole(this.#target(path), signal)
  }

  async writeFile(path: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await writeWhole(this.#target(path, { writes: true }), data, signal)
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await removeOne(this.#target(path, { writes: true, isLink: true }))
  }

  async list(path: string, signal: AbortSignal): Promise<{ name: string; kind: FileStat['kind'] }[]> {
    signal.throwIfAborted()
    return listFolder(this.#target(path), (name) => this.#target(join(path, name)))
  }

  /** Does nothing: processes stay with the runner until `release`. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
