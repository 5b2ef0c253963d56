/**
 * The persistent shell of one conversation, and the calls that look at it.
 *
 * Invariants
 *   T1. Everything the shell prints is shown to one call: the one that waits, else the next one.
 *   T2. A call ends once: when its command ends, when a limit passes while somebody waits, or when the shell is lost. Its
 *       result is then on record, and asking again gives that same result.
 *   T3. Limits end the waiting, never the command.
 *   T4. Nothing is executed for a refused call, and it leaves no record.
 */
import { hostname, userInfo } from 'node:os'
import { setImmediate as nextTick } from 'node:timers/promises'
import { BoundedOutput, type Sealed } from './bounded-output.ts'
import { childEnvironment, conversationMark, startMark } from './environment.ts'
import { hasTooLongLine, inputBytes, MAX_INPUT_LINE_BYTES } from './keys.ts'
import type { Ledger } from './ledger.ts'
import { endProcesses } from './process-tree.ts'
import { Refusal, type Box, type TerminalAnswer, type TerminalSpec } from './protocol.ts'
import { joined, replyTerminal, type Reply } from './reply.ts'
import type { Sandbox } from './sandbox.ts'
import { Shell } from './shell.ts'
import type { Report } from './shell-lines.ts'
import * as say from './terminal-texts.ts'

/** Bytes of output kept for one call. */
const MAX_OUTPUT_BYTES = 2 * 1024 * 1024
const PEEK_CHARS = 8_000

type View = {
  call: string
  begunAt: number
  attendedAt: number
  spec: TerminalSpec
  waiting: Set<Reply>
  timer: NodeJS.Timeout | null
}
type Ending = { outcome: 'exited' | 'lost'; exit_code: number | null }

export type TerminalDeps = {
  conversation: string
  root: string
  home: string
  ledger: Ledger
  sandbox: Sandbox
  /** Called when there may be nothing left to keep. */
  onChange: () => void
}

export class Terminal {
  readonly #deps: TerminalDeps
  #shell: Shell | null = null
  #output: BoundedOutput
  #running: string | null = null
  /** How the last command ended, while no call has told it. */
  #untold: Ending | null = null
  #view: View | null = null
  #cwd = ''
  #python: string | null = null
  #backgroundPid: number | null = null
  #lastOutputAt = 0
  #opening: Promise<unknown> = Promise.resolve()
  #shells = 0
  /** What the shell may do, as text. */
  #boxed = ''
  #isClosed = false

  constructor(deps: TerminalDeps) {
    this.#deps = deps
    this.#output = this.#newOutput()
  }

  get pid(): number | null {
    return this.#shell?.pid ?? null
  }

  /** Takes a call; its reply comes when it ends (T2). Calls are opened one after the other, and wait side by side. */
  ask(spec: TerminalSpec, reply: Reply): Promise<void> {
    const opened = this.#opening.then(() => this.#open(spec, reply))
    this.#opening = opened.catch(() => undefined)
    return opened
  }

  async #open(spec: TerminalSpec, reply: Reply): Promise<void> {
    const { conversation, ledger } = this.#deps
    const known = ledger.entry(conversation, spec.callId)
    if (known.state === 'unknown') {
      throw new Refusal('unknown_outcome', `the runner died under call ${spec.callId}; its outcome cannot be known`)
    }
    if (known.state === 'exited') {
      const result = ledger.result(conversation, spec.callId)
      if (result !== null) replyTerminal(reply, ledger.outputs, result)
      return
    }
    if (known.state === 'running') {
      if (this.#view?.call === spec.callId) return this.#attend(this.#view, reply)
      throw new Refusal('invalid_input', `call ${spec.callId} is under way and is not one of this terminal`)
    }
    const refusal = this.#refusal(spec)
    if (refusal !== null) return this.#refuse(reply, refusal)
    if (spec.reset) await this.#reset()
    if (this.#running === null && spec.command !== '') await this.#ensureShell(spec.cwd, spec.box ?? null)
    // Whoever left before anything began, wants nothing.
    if (!reply.isOpen) return
    if (this.#view !== null) this.#abandonView()
    const isLook = spec.command === ''
    await ledger.begin(conversation, spec.callId, !isLook)
    ledger.began(conversation, spec.callId, this.pid)
    const now = performance.now()
    const view: View = { call: spec.callId, begunAt: now, attendedAt: now, spec, waiting: new Set(), timer: null }
    this.#view = view
    this.#attend(view, reply)
    this.#act(spec, view)
  }

  /** Does what the call is for. While its intent was written, the command or the shell may have ended. */
  #act(spec: TerminalSpec, view: View): void {
    if (this.#running !== null) {
      if (spec.isInput) this.#shell?.type(inputBytes(spec.command))
      return
    }
    if (spec.command !== '' && !spec.isInput) return this.#start(spec, view)
    const ending = this.#untold ?? { outcome: 'exited', exit_code: spec.reset ? 0 : null }
    if (spec.isInput) this.#output.appendText(`[${say.inputTooLate(ending)}]\n`)
    this.#untold = null
    this.#end(view, { ...ending, limit: null })
  }

  /** Why nothing can be done for this call, or null. */
  #refusal(spec: TerminalSpec): string | null {
    if (this.#view !== null && this.#view.waiting.size > 0) return say.anotherWaits(this.#view.spec.command)
    if (spec.reset) return null
    if (this.#running !== null) {
      if (spec.isInput && hasTooLongLine(spec.command)) return say.lineTooLong(MAX_INPUT_LINE_BYTES)
      return spec.command === '' || spec.isInput ? null : say.busy(this.#running)
    }
    if (spec.command !== '' && !spec.isInput) return null
    if (spec.command === '') return this.#untold === null && this.#output.isEmpty ? say.nothingToLookAt() : null
    return this.#untold === null ? say.nothingToType() : say.inputTooLate(this.#untold)
  }

  /** T4. What is still unread is shown and stays unread, because a refusal may be lost on its way. */
  #refuse(reply: Reply, reason: string): void {
    this.#shell?.flush()
    const { text } = joined(this.#output.read(), this.#output.chars)
    const shown = text === '' ? '' : `${text.slice(-PEEK_CHARS).trimEnd()}\n`
    reply.chunk('stdout', Buffer.from(`${shown}[${reason}]`))
    reply.ok({
      ...this.#answer({ outcome: 'refused', exit_code: null, limit: null }),
      busyWith: this.#running,
      dropped: 0,
    })
  }

  #start(spec: TerminalSpec, view: View): void {
    const shell = this.#shell
    if (shell === null) return this.#end(view, { outcome: 'lost', exit_code: null, limit: null })
    if (this.#untold !== null) this.#output.appendText(`[${say.previousEnded(this.#untold)}]\n`)
    this.#untold = null
    this.#running = spec.command
    this.#lastOutputAt = performance.now()
    shell.run(spec.command, spec.env ?? {})
  }

  async #ensureShell(cwd: string, box: Box | null): Promise<void> {
    const boxed = JSON.stringify(box)
    // A server that was started again with other walls does not get a shell behind the old ones.
    if (this.#shell !== null && this.#boxed !== boxed) await this.#endShell()
    if (this.#shell !== null) return
    this.#boxed = boxed
    const { conversation, root, home, sandbox } = this.#deps
    const env = childEnvironment(conversationMark(root, conversation) + startMark(root), {})
    const { shell, report } = await Shell.start(
      { home, cwd, env, wrap: (program, pipe) => sandbox.wrap(conversation, program, box, pipe) },
      {
        onText: (text) => this.#print(text),
        onReport: (ended) => this.#reported(ended),
        onExit: (code) => this.#lost(shell, code),
      },
    )
    if (this.#isClosed) {
      shell.kill()
      throw new Refusal('unavailable', 'the conversation was released')
    }
    if (this.#shells > 0 && this.#untold === null) this.#output.appendText(`[${say.newShell()}]\n`)
    this.#shells += 1
    this.#shell = shell
    this.#note(report)
  }

  #print(text: string): void {
    this.#output.appendText(text)
    this.#lastOutputAt = performance.now()
  }

  #note(report: Report): void {
    this.#cwd = report.cwd
    this.#python = report.python
    this.#backgroundPid = report.backgroundPid
  }

  #reported(report: Report): void {
    this.#note(report)
    this.#running = null
    this.#concluded({ outcome: 'exited', exit_code: report.exit_code })
  }

  #lost(shell: Shell, code: number): void {
    if (this.#shell !== shell) return
    this.#shell = null
    if (this.#running !== null) {
      this.#running = null
      this.#concluded({ outcome: 'lost', exit_code: code })
    }
    this.#deps.onChange()
  }

  #concluded(ending: Ending): void {
    if (this.#view === null) this.#untold = ending
    else this.#end(this.#view, { ...ending, limit: null })
  }

  #attend(view: View, reply: Reply): void {
    view.waiting.add(reply)
    view.attendedAt = performance.now()
    this.#arm(view)
  }

  /** Limits count only while somebody waits: after a restart of the server, the command gets its full silence again. */
  #arm(view: View): void {
    if (view.timer !== null) clearTimeout(view.timer)
    view.timer = null
    if (view.waiting.size === 0) return
    const { timeoutMs, noChangeMs } = view.spec
    const since = timeoutMs === null ? Math.max(view.attendedAt, this.#lastOutputAt) : view.begunAt
    const dueMs = since + (timeoutMs ?? noChangeMs) - performance.now()
    view.timer = setTimeout(() => void this.#due(view), Math.max(0, Math.min(dueMs, 2 ** 31 - 1)))
  }

  async #due(view: View): Promise<void> {
    const { timeoutMs, noChangeMs } = view.spec
    // After a freeze of the machine the timer comes before the output that arrived meanwhile; that is read first.
    await nextTick()
    if (this.#view !== view || view.waiting.size === 0) return
    const since = timeoutMs === null ? Math.max(view.attendedAt, this.#lastOutputAt) : view.begunAt
    if (performance.now() - since < (timeoutMs ?? noChangeMs)) return this.#arm(view)
    this.#end(view, { outcome: 'running', exit_code: null, limit: timeoutMs === null ? 'silence' : 'timeout' })
  }

  #end(view: View, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>): void {
    this.#shell?.flush()
    const sealed = this.#output.seal()
    this.#output = this.#newOutput()
    this.#record(view, how, sealed)
  }

  #record(view: View, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>, stdout: Sealed): void {
    const { conversation, ledger, onChange } = this.#deps
    if (view.timer !== null) clearTimeout(view.timer)
    if (this.#view === view) this.#view = null
    const result = { exit_code: how.exit_code, signal: null, answer: this.#answer(how), stdout, stderr: null }
    ledger.end(conversation, view.call, result)
    for (const reply of view.waiting) replyTerminal(reply, ledger.outputs, result)
    view.waiting.clear()
    onChange()
  }

  /** Nobody came back for the call before: what it would have shown is shown to the next one. */
  #abandonView(): void {
    if (this.#view === null) return
    const nothing = this.#newOutput().seal()
    this.#record(this.#view, { outcome: 'running', exit_code: null, limit: null }, nothing)
  }

  #answer(how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>): Omit<TerminalAnswer, 'dropped'> {
    const { outcome, exit_code, limit } = how
    const shell = { user: user(), host: hostname(), python: this.#python }
    return { outcome, exit_code, limit, working_dir: this.#cwd, pid: this.#backgroundPid, shell, busyWith: null }
  }

  /** The asker no longer waits; the command and its output go on. */
  leave(reply: Reply): void {
    if (this.#view?.waiting.delete(reply) === true) this.#arm(this.#view)
  }

  /** Turns away those whose epoch is older. */
  fence(epoch: number): void {
    for (const reply of this.#view?.waiting ?? []) {
      if (reply.epoch >= epoch) continue
      this.leave(reply)
      reply.refuse('stale_epoch', 'a newer owner of this conversation has taken over')
    }
  }

  /** Ctrl-C for what runs, or for what is just being started. */
  async interrupt(): Promise<void> {
    await this.#opening
    if (this.#running !== null) this.#shell?.type('\x03')
  }

  async #reset(): Promise<void> {
    if (this.#view !== null) this.#abandonView()
    await this.#endShell()
    this.#untold = null
    this.#running = null
    this.#shells = 0
    this.#output.discard()
    this.#output = this.#newOutput()
  }

  async #endShell(): Promise<void> {
    const shell = this.#shell
    if (shell === null) return
    this.#shell = null
    await endProcesses({ mark: null, leaders: new Set([shell.pid]) })
    shell.kill()
  }

  /** Its processes are being ended by whoever calls this. Calls that wait are told that the shell was lost. */
  close(): void {
    this.#isClosed = true
    if (this.#view !== null) this.#end(this.#view, { outcome: 'lost', exit_code: null, limit: null })
    this.#shell?.kill()
    this.#shell = null
    this.#running = null
    this.#output.discard()
  }

  #newOutput(): BoundedOutput {
    return new BoundedOutput(this.#deps.ledger.outputs, MAX_OUTPUT_BYTES)
  }
}

function user(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that has no name.
    return String(process.getuid?.() ?? '')
  }
}
