/**
 * The shell of a conversation whose commands run on another agent server: one job after another, each in its own bash, which
 * continues with the state of the previous one.
 *
 * Invariants
 *   R1. A call is noted here before it is sent, and begins there once: a repeated call shows the same job from the same byte.
 *   R2. Every byte of a job's output goes to one call: the one that waits, otherwise the next one.
 *   R3. Limits end the waiting, never the command.
 *   R4. Nothing is executed for a refused call.
 */
import { isStoreUnavailable } from '../../lib/index.ts'
import { ParleyError } from '@parley/protocol'
import { makeMasker, type Masker } from '../../secrets/index.ts'
import { inputBytes } from '../runner/terminal/keys.ts'
import * as texts from '../runner/terminal/texts.ts'
import type { TerminalRequest, TerminalResult } from '../workspace.ts'
import { jobOf, type Greeting, type Look, type RemoteExecutor } from './remote-executor.ts'
import { shellScript } from './job-scripts.ts'
import type { Note } from './note.ts'
import type { Notes } from './notes.ts'
import { plainText } from './output.ts'

/** Milliseconds until a job must have begun after the other server has accepted it. */
const BEGIN_MS = 10_000

export type RemoteTerminalDeps = {
  executor: RemoteExecutor
  notes: Notes
  workingDir: string
  /** Masked in the output of commands. */
  apiKey: string | null
}

type Last = { job: string; command: string; upTo: number; isReported: boolean }

export class RemoteTerminal {
  readonly #deps: RemoteTerminalDeps
  readonly #masker: Masker
  #last: Last | null = null
  #isRestored = false
  #cwd: string

  constructor(deps: RemoteTerminalDeps) {
    this.#deps = deps
    this.#masker = makeMasker(deps.apiKey === null ? [] : [deps.apiKey])
    this.#cwd = deps.workingDir
  }

  async call(request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult> {
    const note = await this.#deps.notes.of(request.callId)
    if (note !== null) return this.#repeat(note, request, signal)
    try {
      await this.#restore(signal)
    } catch (error) {
      // No command was sent yet, so none was executed.
      if (signal.aborted || !(error instanceof ParleyError) || error.code === 'conflict') throw error
      if (isStoreUnavailable(error)) throw error
      return this.#refused(null, `Not executed: ${error.message}`)
    }
    if (request.reset) {
      await this.#deps.executor.reset(signal)
      this.#last = null
      this.#cwd = this.#deps.workingDir
    }
    const before = await this.#unread(signal)
    const refusal = this.#refusal(request, before)
    if (refusal !== null) return refusal
    if (request.command === '') return this.#look(request, before, signal)
    if (request.isInput) return this.#type(request, signal)
    return this.#start(request, before, signal)
  }

  /** Sends Ctrl-C to the running command. */
  async interrupt(signal: AbortSignal): Promise<void> {
    const last = this.#last
    if (last !== null && !last.isReported)
      await this.#deps.executor.signal(last.job, 'INT', signal, { retryBudgetMs: 0 })
  }

  /** Restores the newest job and the shown part of its output after a restart of this server. */
  async #restore(signal: AbortSignal): Promise<Greeting> {
    const { executor, notes } = this.#deps
    const greeting = await executor.greet(signal)
    if (this.#isRestored) return greeting
    const { current } = greeting
    if (current !== null) {
      const mark = await notes.markOf(current)
      this.#last = {
        job: current,
        command: 'an earlier command',
        upTo: mark?.upTo ?? 0,
        isReported: mark?.told ?? false,
      }
    }
    this.#isRestored = true
    return greeting
  }

  /** Status of the newest job, unless its exit was reported already. A job that has not begun is cancelled. */
  async #unread(signal: AbortSignal): Promise<Look | null> {
    const last = this.#last
    if (last === null || last.isReported) return null
    const { executor } = this.#deps
    const look = await executor.look(last.job, { from: last.upTo, waitMs: 0, isOutputWanted: true }, signal)
    if (look.state !== 'ready' && look.state !== 'absent') return look
    await executor.cancel(last.job, signal)
    this.#last = null
    return null
  }

  #refusal({ command, isInput, reset }: TerminalRequest, before: Look | null): TerminalResult | null {
    if (reset) return null
    const isRunning = before?.state === 'running'
    if (isRunning && command !== '' && !isInput)
      return this.#refused(this.#last!.command, texts.busy(this.#last!.command))
    if (isRunning && isInput && UNSENDABLE.has(inputBytes(command)))
      return this.#refused(this.#last!.command, CANNOT_BE_SENT)
    if (isRunning || (command !== '' && !isInput)) return null
    if (command === '') return before === null ? this.#refused(null, texts.nothingToLookAt()) : null
    if (before === null) return this.#refused(null, texts.nothingToType())
    return this.#refused(null, texts.inputTooLate(endingOf(before)))
  }

  async #start(request: TerminalRequest, before: Look | null, signal: AbortSignal): Promise<TerminalResult> {
    const { executor, workingDir } = this.#deps
    const job = jobOf(request.callId)
    const { root } = await executor.greet(signal)
    const folder = await executor.folderOf(job, signal)
    const unread = before === null ? '' : `${this.#text(before)}[${texts.previousEnded(endingOf(before))}]\n`
    if (before !== null) this.#shown(before, true)
    await this.#note({ call: request.callId, job, from: 0, kind: 'start' }, signal)
    this.#last = { job, command: request.command, upTo: 0, isReported: false }
    const script = shellScript({ command: request.command, env: request.env ?? {}, workingDir, root, folder })
    await executor.start(job, { kind: 'terminal', script }, signal)
    const result = await this.#follow(request, 0, signal)
    return { ...result, output: unread + result.output }
  }

  async #look(request: TerminalRequest, before: Look | null, signal: AbortSignal): Promise<TerminalResult> {
    const last = this.#last
    // A reset without a command: the shell is new and has no output.
    if (last === null || before === null) return this.#result({ outcome: 'exited', exit_code: 0 }, null, signal)
    await this.#note({ call: request.callId, job: last.job, from: last.upTo, kind: 'look' }, signal)
    if (before.state === 'gone') return this.#result(endingOf(before), { look: before, from: last.upTo }, signal)
    return this.#follow(request, last.upTo, signal)
  }

  async #type(request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult> {
    const last = this.#last!
    await this.#note({ call: request.callId, job: last.job, from: last.upTo, kind: 'look' }, signal)
    await this.#send(request, last.job, signal)
    return this.#follow(request, last.upTo, signal)
  }

  async #send({ callId, command }: TerminalRequest, job: string, signal: AbortSignal): Promise<void> {
    const { executor } = this.#deps
    const bytes = inputBytes(command)
    if (bytes === INTERRUPT) return executor.signal(job, 'INT', signal)
    if (bytes === QUIT) return executor.signal(job, 'QUIT', signal)
    await executor.type(job, jobOf(callId), Buffer.from(bytes.replaceAll('\r', '\n')), signal)
  }

  /** Repeats a call that this process or an earlier one has sent. */
  async #repeat(note: Note, request: TerminalRequest, signal: AbortSignal): Promise<TerminalResult> {
    const { executor } = this.#deps
    const { token, root } = await this.#restore(signal)
    if (token !== note.token) throw unknownOutcome('its folder on the other server is a new one')
    const found =
      executor.recall(note.job, note.from) ??
      (await executor.look(note.job, { from: note.from, waitMs: 0, isOutputWanted: false }, signal))
    if (this.#last?.job !== note.job)
      this.#last = { job: note.job, command: request.command, upTo: note.from, isReported: false }
    if (found.state === 'exited') return this.#result(endingOf(found), { look: found, from: note.from }, signal)
    const isUnsent = found.state === 'absent' || found.state === 'ready'
    if (isUnsent && note.kind === 'start') {
      const folder = await executor.folderOf(note.job, signal)
      const { workingDir } = this.#deps
      const script = shellScript({ command: request.command, env: request.env ?? {}, workingDir, root, folder })
      await executor.start(note.job, { kind: 'terminal', script }, signal)
    } else if (request.isInput && found.state === 'running') {
      await this.#send(request, note.job, signal)
    }
    return this.#follow(request, note.from, signal)
  }

  /** Waits for the end of the newest job, or for a limit. */
  async #follow(request: TerminalRequest, from: number, signal: AbortSignal): Promise<TerminalResult> {
    const { executor } = this.#deps
    const { job } = this.#last!
    const { timeoutMs, noChangeMs } = request
    const begun = performance.now()
    let lastOutputAt = begun
    let size = from
    for (;;) {
      const dueAt = timeoutMs === null ? lastOutputAt + noChangeMs : begun + timeoutMs
      const leftMs = Math.max(0, dueAt - performance.now())
      const isLast = leftMs <= executor.maxWaitMs
      const look = await executor.look(job, { from, waitMs: leftMs, isOutputWanted: isLast }, signal)
      if (look.state === 'exited') return this.#result(endingOf(look), { look, from }, signal)
      if (look.state === 'gone' || look.state === 'absent') {
        if (look.state === 'absent') executor.forgetGreeting()
        throw unknownOutcome(look.state === 'gone' ? 'its process there is gone' : 'its folder there is gone')
      }
      if (look.state === 'ready' && performance.now() - begun > BEGIN_MS)
        throw new ParleyError('unavailable', `${executor.link.origin} has said that a command began, but it did not.`)
      if (look.outSize > size) lastOutputAt = performance.now()
      const isQuiet = timeoutMs !== null || look.outSize === size
      size = look.outSize
      // The outcome `running` is returned only when the command has begun.
      if (isLast && isQuiet && look.shown !== null && look.state === 'running') {
        const limit = timeoutMs === null ? 'silence' : 'timeout'
        return this.#result({ outcome: 'running', exit_code: null, limit }, { look, from }, signal)
      }
    }
  }

  async #result(
    how: Pick<TerminalResult, 'outcome' | 'exit_code'> & { limit?: TerminalResult['limit'] },
    seen: { look: Look; from: number } | null,
    signal: AbortSignal,
  ): Promise<TerminalResult> {
    const { shell } = await this.#deps.executor.greet(signal)
    const common = { limit: null, pid: null, shell, busyWith: null }
    if (seen === null) return { ...common, ...how, output: '', dropped: 0, working_dir: this.#cwd }
    const { look, from } = seen
    this.#shown(look, how.outcome !== 'running')
    const { head, tail } = look.shown ?? NOTHING
    const dropped = look.outSize - from - head.length - tail.length
    return { ...common, ...how, output: this.#text(look), dropped, working_dir: this.#cwd }
  }

  #shown({ outSize, shown }: Look, isOver: boolean): void {
    const last = this.#last!
    if (shown !== null && shown.cwd !== '') this.#cwd = shown.cwd
    this.#last = { ...last, upTo: outSize, isReported: isOver }
    this.#deps.notes.mark({ job: last.job, upTo: outSize, told: isOver })
  }

  #text({ shown }: Look): string {
    if (shown === null) return ''
    const text = plainText(shown.head, shown.tail).replaceAll(RUN_FILE, 'bash: ')
    return this.#masker.text(text)
  }

  async #note(note: Omit<Note, 'token' | 'at'>, signal: AbortSignal): Promise<void> {
    const { token } = await this.#deps.executor.greet(signal)
    await this.#deps.notes.add({ ...note, token, at: new Date().toISOString() }, signal)
  }

  #refused(busyWith: string | null, reason: string): TerminalResult {
    const shell = null
    const common = { exit_code: null, limit: null, dropped: 0, pid: null, shell }
    return { outcome: 'refused', output: `[${reason}]`, working_dir: this.#cwd, busyWith, ...common }
  }
}

/** Name of a job's file in messages of bash. */
export const RUN_FILE = /\S*\/\.parley-hands[^\s/]*\/[^\s/]+\/jobs\/[0-9a-f]{32}\/run: /g
const NOTHING = { head: Buffer.alloc(0), tail: Buffer.alloc(0) }
const INTERRUPT = '\x03'
const QUIT = '\x1c'
/** C-d and C-z: the input of a command there is a pipe, which supports neither. */
const UNSENDABLE: ReadonlySet<string> = new Set(['\x04', '\x1a'])
const CANNOT_BE_SENT =
  'Not sent: a command on another server has no terminal of its own, so C-d and C-z mean nothing to it. Use C-c, or reset.'

const endingOf = ({ state, number }: Look) =>
  state === 'exited' ? { outcome: 'exited' as const, exit_code: number } : { outcome: 'lost' as const, exit_code: null }

export const unknownOutcome = (why: string): ParleyError =>
  new ParleyError('unavailable', `the outcome of a command on the other server is not known: ${why}`, {
    details: { reason: 'unknown_outcome' },
  })
