/** A workspace on another agent server: the same interface, spoken over HTTP. Sources: seed: Workspace variants; agent-core.md 12.9. */
import { randomBytes } from 'node:crypto'
import { posix } from 'node:path'
import { ParleyError, type ConversationId } from '@parley/protocol'
import type {
  ExecRequest,
  ExecResult,
  FileStat,
  LedgerEntry,
  Process,
  TerminalRequest,
  TerminalResult,
  Workspace,
} from '../workspace.ts'
import { expectDone, LIST, PLACE, readList, readStat, REAL_PATH, REMOVE, STAT } from './file-scripts.ts'
import { RemoteHands } from './hands.ts'
import { ledgerOf } from './ledger.ts'
import type { RemoteLink } from './link.ts'
import { Notes } from './notes.ts'
import { runProgram } from './programs.ts'
import { RemoteTerminal } from './remote-terminal.ts'

/** Milliseconds for what must not hold up who asks: an interrupt, the end of a conversation. */
const BRIEF_MS = 5_000

export type RemoteSpec = {
  conversationId: ConversationId
  workingDir: string
  epoch: number
  apiKey: string | null
  /** Where this side remembers what it has sent; outside the workspace. */
  notesFile: string
}

export class RemoteWorkspace implements Workspace {
  readonly workingDir: string
  readonly #link: RemoteLink
  readonly #hands: RemoteHands
  readonly #notes: Notes
  readonly #terminal: RemoteTerminal
  readonly #onDispose: () => void

  constructor({ apiKey, notesFile, ...spec }: RemoteSpec, link: RemoteLink, onDispose: () => void) {
    this.workingDir = spec.workingDir
    this.#link = link
    this.#hands = new RemoteHands(link, spec)
    this.#notes = new Notes(notesFile)
    this.#terminal = new RemoteTerminal({ hands: this.#hands, notes: this.#notes, workingDir: spec.workingDir, apiKey })
    this.#onDispose = onDispose
  }

  /** An abort ends a program without call id; one with a call id goes on, to be attached to by the same call id. */
  exec(request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const deps = { hands: this.#hands, notes: this.#notes }
    return runProgram(deps, { ...request, cwd: this.resolve(request.cwd ?? '.') }, signal)
  }

  /** An abort ends the waiting; the command goes on until `interrupt` or `release`. */
  terminal(request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult> {
    return this.#terminal.ask(request, signal)
  }

  /** @throws ParleyError `unsupported`: an agent server's HTTP interface has no open pipes. */
  spawn(): Promise<Process> {
    const message = `A program with open pipes (a stdio MCP server, an ACP agent) cannot be started on ${this.#link.origin}: an agent server runs commands only.`
    return Promise.reject(new ParleyError('unsupported', message))
  }

  ledger(callIds: readonly string[], signal: AbortSignal): Promise<Record<string, LedgerEntry>> {
    return ledgerOf(callIds, this.#hands, this.#notes, signal)
  }

  async interrupt(): Promise<void> {
    await this.#terminal.interrupt(AbortSignal.timeout(BRIEF_MS))
  }

  /** @throws ParleyError `unavailable` when the other server cannot be told within some seconds. */
  async release(): Promise<void> {
    await this.#hands.release(AbortSignal.timeout(BRIEF_MS), { patienceMs: 0 })
    await this.#notes.remove()
  }

  /** Makes the working directory there. @throws ParleyError when the server cannot be used. */
  async prepare(signal: AbortSignal, patienceMs: number): Promise<void> {
    await this.#hands.greet(signal, { patienceMs })
  }

  resolve(path: string): string {
    return posix.resolve(this.workingDir, path)
  }

  async stat(path: string, signal: AbortSignal): Promise<FileStat | null> {
    return readStat(await this.#ask(STAT, path, [], signal))
  }

  async realPath(path: string, signal: AbortSignal): Promise<string | null> {
    const said = Buffer.from(await this.#ask(REAL_PATH, path, [], signal), 'base64').toString('utf8')
    return said === '' ? null : said.replace(/\n$/, '')
  }

  async readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
    await this.#hands.greet(signal)
    return this.#link.download(this.resolve(path), signal)
  }

  async writeFile(path: string, data: Uint8Array, signal: AbortSignal): Promise<void> {
    const { root } = await this.#hands.greet(signal)
    const name = randomBytes(9).toString('hex')
    const uploaded = `${root}/files/${name}`
    await this.#link.upload(uploaded, data, signal)
    await this.#ask(PLACE, path, [uploaded, name], signal)
  }

  async remove(path: string, signal: AbortSignal): Promise<void> {
    await this.#ask(REMOVE, path, [], signal)
  }

  async list(path: string, signal: AbortSignal): Promise<{ name: string; kind: FileStat['kind'] }[]> {
    return readList(await this.#ask(LIST, path, [], signal))
  }

  async keepText(name: string, text: string, signal: AbortSignal): Promise<string> {
    const path = `${(await this.#hands.greet(signal)).root}/outputs/${name}`
    await this.#link.upload(path, Buffer.from(text), signal)
    return path
  }

  async #ask(script: string, path: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    await this.#hands.greet(signal)
    const at = this.resolve(path)
    if (at.includes('\0')) throw new ParleyError('bad_request', 'A path cannot hold the character NUL.')
    return expectDone(at, await this.#link.run(script, [at, ...args], signal))
  }

  /** Lets go of the connections; what runs there goes on until `release`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#onDispose()
  }
}
