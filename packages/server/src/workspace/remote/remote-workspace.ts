/** A workspace on another agent server, over its HTTP API. Sources: interface.md, Workspace variants; agent-core.md 12.9. */
import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type {
  ExecRequest,
  ExecResult,
  FileStat,
  LedgerEntry,
  Process,
  TerminalRequest,
  TerminalResult,
  Workspace,
  WorkspaceSpec,
} from '../workspace.ts'
import { expectDone, LIST, PLACE, readList, readStat, REAL_PATH, REMOVE, STAT } from './file-scripts.ts'
import { RemoteExecutor } from './remote-executor.ts'
import { callStates } from './ledger.ts'
import type { RemoteLink } from './link.ts'
import type { Notes } from './notes.ts'
import { runProgram } from './programs.ts'
import { RemoteTerminal } from './remote-terminal.ts'

/** Milliseconds for requests whose caller must not wait long: an interrupt, the end of a conversation. */
const BRIEF_MS = 5_000

export type RemoteSpec = Omit<WorkspaceSpec, 'remote' | 'owner'> & {
  apiKey: string | null
  /** The calls that were sent. */
  notes: Notes
  /** Replaces `absent` by `unknown` where the absence proves nothing. */
  proven: (entries: Record<string, LedgerEntry>) => Promise<Record<string, LedgerEntry>>
}

export class RemoteWorkspace implements Workspace {
  readonly workingDir: string
  readonly #link: RemoteLink
  readonly #executor: RemoteExecutor
  readonly #notes: Notes
  readonly #terminal: RemoteTerminal
  readonly #onDispose: () => void
  readonly #env: NonNullable<WorkspaceSpec['env']>
  readonly #proven: RemoteSpec['proven']

  constructor(
    { apiKey, notes, proven, env = async () => ({}), ...spec }: RemoteSpec,
    link: RemoteLink,
    onDispose: () => void,
  ) {
    this.workingDir = spec.workingDir
    this.#link = link
    this.#executor = new RemoteExecutor(link, spec)
    this.#notes = notes
    this.#terminal = new RemoteTerminal({
      executor: this.#executor,
      notes: this.#notes,
      workingDir: spec.workingDir,
      apiKey,
    })
    this.#onDispose = onDispose
    this.#env = env
    this.#proven = proven
  }

  /** Aborting ends a program without call id; one with a call id continues, and a request with the same call id attaches to it. */
  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const env = { ...(await this.#env()), ...request.env }
    const deps = { executor: this.#executor, notes: this.#notes }
    return runProgram(deps, { ...request, env, cwd: this.resolve(request.cwd ?? '.') }, signal)
  }

  /** Aborting ends the waiting; the command continues until `interrupt` or `release`. */
  async terminal(request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult> {
    return this.#terminal.call({ ...request, env: { ...(await this.#env()), ...request.env } }, signal)
  }

  /** @throws ParleyError `unsupported`: the HTTP API of an agent server has no open pipes. */
  spawn(): Promise<Process> {
    const message = `A program with open pipes (a stdio MCP server, an ACP agent) cannot be started on ${this.#link.origin}: an agent server runs commands only.`
    return Promise.reject(new ParleyError('unsupported', message))
  }

  async ledger(callIds: readonly string[], signal: AbortSignal): Promise<Record<string, LedgerEntry>> {
    return this.#proven(await callStates(callIds, this.#executor, this.#notes, signal))
  }

  async interrupt(): Promise<void> {
    await this.#terminal.interrupt(AbortSignal.timeout(BRIEF_MS))
  }

  /** @throws ParleyError `unavailable` when the other server does not answer within `BRIEF_MS`. */
  async release(): Promise<void> {
    await this.#executor.release(AbortSignal.timeout(BRIEF_MS), { retryBudgetMs: 0 })
    await this.#notes.remove()
  }

  /** Creates the working directory there. @throws ParleyError when the server cannot be used. */
  async prepare(signal: AbortSignal, patienceMs: number): Promise<void> {
    await this.#executor.greet(signal, { retryBudgetMs: patienceMs, isNew: true })
  }

  resolve(path: string): string {
    return posix.resolve(this.workingDir, path)
  }

  async stat(path: string, signal: AbortSignal): Promise<FileStat | null> {
    return readStat(await this.#ask(STAT, path, [], signal))
  }

  async realPath(path: string, signal: AbortSignal): Promise<string | null> {
    const output = Buffer.from(await this.#ask(REAL_PATH, path, [], signal), 'base64').toString('utf8')
    return output === '' ? null : output.replace(/\n$/, '')
  }

  async readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
    await this.#executor.greet(signal)
    return this.#link.download(this.resolve(path), signal)
  }

  async writeFile(path: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    const { root } = await this.#executor.greet(signal)
    const name = randomBytes(9).toString('hex')
    const uploaded = `${root}/files/${name}`
    await this.#link.upload(uploaded, data, signal)
    await this.#change(PLACE, path, [uploaded, name], signal)
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#change(REMOVE, path, [], signal)
  }

  async list(path: string, signal: AbortSignal): Promise<{ name: string; kind: FileStat['kind'] }[]> {
    return readList(await this.#ask(LIST, path, [], signal))
  }

  async keepText(name: string, text: string, signal: AbortSignal): Promise<string> {
    const path = `${(await this.#executor.greet(signal)).root}/outputs/${name}`
    await this.#link.upload(path, Buffer.from(text), signal)
    return path
  }

  async #ask(script: string, path: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    await this.#executor.greet(signal)
    const at = this.#path(path)
    return expectDone(at, await this.#executor.run(script, [at, ...args], signal))
  }

  /** As `#ask`, for a script that changes something. @throws ParleyError `conflict` when a newer owner has taken over */
  async #change(script: string, path: string, args: readonly string[], signal: AbortSignal): Promise<void> {
    const at = this.#path(path)
    expectDone(at, await this.#executor.change(script, [at, ...args], signal))
  }

  #path(path: string): string {
    const at = this.resolve(path)
    if (at.includes('\0')) throw new ParleyError('bad_request', 'A path cannot hold the character NUL.')
    return at
  }

  /** Releases the connections; processes on the other server continue until `release`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#onDispose()
  }
}
