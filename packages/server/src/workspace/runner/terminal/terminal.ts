/**
 * The persistent shell of one conversation, and the calls that use it.
 *
 * Invariants
 *   T1. All output of the shell goes to one call: the one that waits, otherwise the next one.
 *   T2. A call ends once: when its command ends, when a limit passes while a request waits, or when the shell is lost. Its
 *       result is then on record, and a repeated request gets the same result.
 *   T3. Limits end the waiting, never the command.
 *   T4. A refused call executes nothing and leaves no record.
 */
import { hostname, userInfo } from 'node:os'
import { setImmediate as nextTick } from 'node:timers/promises'
import { BoundedOutput, type Sealed } from '../ledger/bounded-output.ts'
import { childEnvironment, conversationMark, startMark } from '../environment.ts'
import { hasTooLongLine, inputBytes, MAX_INPUT_LINE_BYTES } from './keys.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { membersOf } from '../groups/cgroup.ts'
import { NO_GROUP, type ProcessGroup } from '../groups/process-groups.ts'
import { endProcesses, hasLeftSession } from '../process-tree.ts'
import { Refusal, type Box, type TerminalAnswer, type TerminalSpec } from '../ipc/protocol.ts'
import { joined, replyTerminal, type Reply } from '../ipc/reply.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { ElsewhereCalls } from './elsewhere.ts'
import { Shell } from './shell.ts'
import type { Report } from './shell-lines.ts'
import * as texts from './texts.ts'

/** Bytes of output kept for one call. */
const MAX_OUTPUT_BYTES = 2 * 1024 * 1024
const PEEK_CHARS = 8_000

type TerminalCall = {
  id: string
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
  /** Absent: processes are found by their marks only. */
  group?: ProcessGroup
  /** Called when there may be nothing left to keep. */
  onChange: () => void
  /** Ends the processes of this conversation that runners of other protocols started. */
  endElsewhere?: () => Promise<void>
}

export class Terminal {
  readonly #deps: TerminalDeps
  readonly #elsewhere: ElsewhereCalls
  #shell: Shell | null = null
  #output: BoundedOutput
  #running: string | null = null
  /** Processes of the conversation when the running command began. */
  #before: ReadonlySet<number> = new Set()
  /** Exit of the last command, until a call has reported it. */
  #unreported: Ending | null = null
  #current: TerminalCall | null = null
  #cwd = ''
  #python: string | null = null
  #backgroundPid: number | null = null
  #lastOutputAt = 0
  #opening: Promise<unknown> = Promise.resolve()
  #shells = 0
  /** The sandbox of the shell as JSON. */
  #boxed = ''
  #isClosed = false
  /** Epoch of the newest owner. Requests with an older one are refused. */
  #epoch = 0

  constructor(deps: TerminalDeps) {
    this.#deps = deps
    this.#elsewhere = new ElsewhereCalls({ ...deps, answer: (ending) => this.#answer(ending) })
    this.#output = this.#newOutput()
  }

  get pid(): number | null {
    return this.#shell?.pid ?? null
  }

  /** Starts a call, which is answered when it ends (T2). Calls start one after another and wait concurrently. */
  call(spec: TerminalSpec, reply: Reply): Promise<void> {
    const opened = this.#opening.then(() => this.#open(spec, reply))
    this.#opening = opened.catch(() => undefined)
    return opened
  }

  async #open(spec: TerminalSpec, reply: Reply): Promise<void> {
    if (this.#refuseStale(reply)) return
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
      if (this.#current?.id === spec.callId) return this.#attend(this.#current, reply)
      const over = ledger.elsewhere(conversation, spec.callId)
      if (over !== null) return void this.#elsewhere.follow(spec, over, reply)
      throw new Refusal('invalid_input', `call ${spec.callId} is under way and is not one of this terminal`)
    }
    const refusal = this.#refusal(spec)
    if (refusal !== null) return this.#refuse(reply, refusal)
    if (spec.reset) await this.#reset()
    if (this.#running === null && spec.command !== '') await this.#ensureShell(spec.cwd, spec.box ?? null)
    // The sender disconnected before the call began.
    if (!reply.isOpen) return
    if (this.#current !== null) this.#abandonCall()
    const isLook = spec.command === ''
    await ledger.begin(conversation, spec.callId, !isLook)
    ledger.began(conversation, spec.callId, this.pid)
    const now = performance.now()
    const call: TerminalCall = { id: spec.callId, begunAt: now, attendedAt: now, spec, waiting: new Set(), timer: null }
    this.#current = call
    this.#attend(call, reply)
    this.#act(spec, call)
  }

  /** Executes the call. While its intent was written, the command or the shell may have ended. */
  #act(spec: TerminalSpec, call: TerminalCall): void {
    if (this.#running !== null) {
      if (spec.isInput) this.#shell?.type(inputBytes(spec.command))
      return
    }
    if (spec.command !== '' && !spec.isInput) return this.#start(spec, call)
    const ending = this.#unreported ?? { outcome: 'exited', exit_code: spec.reset ? 0 : null }
    if (spec.isInput) this.#output.appendText(`[${texts.inputTooLate(ending)}]\n`)
    this.#unreported = null
    this.#end(call, { ...ending, limit: null })
  }

  /** The reason to refuse a call, or null. */
  #refusal(spec: TerminalSpec): string | null {
    if (this.#current !== null && this.#current.waiting.size > 0) return texts.anotherWaits(this.#current.spec.command)
    if (spec.reset) return null
    if (this.#running !== null) {
      if (spec.isInput && hasTooLongLine(spec.command)) return texts.lineTooLong(MAX_INPUT_LINE_BYTES)
      return spec.command === '' || spec.isInput ? null : texts.busy(this.#running)
    }
    if (spec.command !== '' && !spec.isInput) return null
    if (spec.command === '') return this.#unreported === null && this.#output.isEmpty ? texts.nothingToLookAt() : null
    return this.#unreported === null ? texts.nothingToType() : texts.inputTooLate(this.#unreported)
  }

  /** Answers a refused call (T4) with the unread output. The output stays unread, because the answer may be lost. */
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

  #start(spec: TerminalSpec, call: TerminalCall): void {
    const shell = this.#shell
    if (shell === null) return this.#end(call, { outcome: 'lost', exit_code: null, limit: null })
    if (this.#unreported !== null) this.#output.appendText(`[${texts.previousEnded(this.#unreported)}]\n`)
    this.#unreported = null
    this.#running = spec.command
    this.#before = this.#members()
    this.#lastOutputAt = performance.now()
    shell.run(spec.command, spec.env ?? {})
  }

  async #ensureShell(cwd: string, box: Box | null): Promise<void> {
    const boxed = JSON.stringify(box)
    // After a restart of the server with another sandbox, the shell is replaced.
    if (this.#shell !== null && this.#boxed !== boxed) await this.#endShell()
    if (this.#shell !== null) return
    this.#boxed = boxed
    const { conversation, root, home, ledger, sandbox, group = NO_GROUP } = this.#deps
    const env = childEnvironment(conversationMark(root, conversation) + startMark(root), {})
    const { shell, report } = await Shell.start(
      { home, cwd, env, group, wrap: (program, pipe) => sandbox.wrap(conversation, program, box, pipe) },
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
    const hadShell = this.#shells > 0 || ledger.hasAdopted(conversation)
    if (hadShell && this.#unreported === null) this.#output.appendText(`[${texts.newShell()}]\n`)
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
    if (this.#current === null) this.#unreported = ending
    else this.#end(this.#current, { ...ending, limit: null })
  }

  #attend(call: TerminalCall, reply: Reply): void {
    // While the intent was written, a newer owner may have arrived. The call is on record, so it begins, and that owner attaches to it.
    if (this.#refuseStale(reply)) return
    call.waiting.add(reply)
    call.attendedAt = performance.now()
    this.#arm(call)
  }

  /** Starts the timer of a call. Limits count only while a request waits; after a restart of the server the time without output starts again. */
  #arm(call: TerminalCall): void {
    if (call.timer !== null) clearTimeout(call.timer)
    call.timer = null
    if (call.waiting.size === 0) return
    const { timeoutMs, noChangeMs } = call.spec
    const since = timeoutMs === null ? Math.max(call.attendedAt, this.#lastOutputAt) : call.begunAt
    const dueMs = since + (timeoutMs ?? noChangeMs) - performance.now()
    call.timer = setTimeout(() => void this.#due(call), Math.max(0, Math.min(dueMs, 2 ** 31 - 1)))
  }

  async #due(call: TerminalCall): Promise<void> {
    const { timeoutMs, noChangeMs } = call.spec
    // After the machine was suspended, the timer fires before output that arrived meanwhile is read, so that is read first.
    await nextTick()
    if (this.#current !== call || call.waiting.size === 0) return
    const since = timeoutMs === null ? Math.max(call.attendedAt, this.#lastOutputAt) : call.begunAt
    if (performance.now() - since < (timeoutMs ?? noChangeMs)) return this.#arm(call)
    this.#end(call, { outcome: 'running', exit_code: null, limit: timeoutMs === null ? 'silence' : 'timeout' })
  }

  #end(call: TerminalCall, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>): void {
    this.#shell?.flush()
    const sealed = this.#output.seal()
    this.#output = this.#newOutput()
    this.#record(call, how, sealed)
  }

  #record(call: TerminalCall, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>, stdout: Sealed): void {
    const { conversation, ledger, onChange } = this.#deps
    if (call.timer !== null) clearTimeout(call.timer)
    if (this.#current === call) this.#current = null
    const result = { exit_code: how.exit_code, signal: null, answer: this.#answer(how), stdout, stderr: null }
    ledger.end(conversation, call.id, result)
    for (const reply of call.waiting) replyTerminal(reply, ledger.outputs, result)
    call.waiting.clear()
    onChange()
  }

  /** Ends a call that no request waits for. Its output goes to the next call. */
  #abandonCall(): void {
    if (this.#current === null) return
    const nothing = this.#newOutput().seal()
    this.#record(this.#current, { outcome: 'running', exit_code: null, limit: null }, nothing)
  }

  #answer(how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>): Omit<TerminalAnswer, 'dropped'> {
    const { outcome, exit_code, limit } = how
    const shell = { user: user(), host: hostname(), python: this.#python }
    return { outcome, exit_code, limit, working_dir: this.#cwd, pid: this.#backgroundPid, shell, busyWith: null }
  }

  /** The sender no longer waits; the command continues. */
  leave(reply: Reply): void {
    this.#elsewhere.waiting.delete(reply)
    if (this.#current?.waiting.delete(reply) === true) this.#arm(this.#current)
  }

  /** Refuses waiting requests with an older epoch. */
  fence(epoch: number): void {
    this.#epoch = epoch
    const waiting = [...(this.#current?.waiting ?? []), ...this.#elsewhere.waiting]
    for (const reply of waiting) if (this.#refuseStale(reply)) this.leave(reply)
  }

  /** Refuses a request with an older epoch. Returns true when it did. */
  #refuseStale(reply: Reply): boolean {
    if (reply.epoch >= this.#epoch) return false
    reply.refuse('stale_epoch', 'a newer owner of this conversation has taken over')
    return true
  }

  /**
   * Sends Ctrl-C to the running command, or to the one that is being started. Processes of the command that have left the session
   * of the shell get no Ctrl-C, so they are ended. Those in its background stay.
   */
  async interrupt(): Promise<void> {
    await this.#opening
    const shell = this.#shell
    if (this.#running === null || shell === null) return
    shell.type('\x03')
    const before = this.#before
    const isLeft = (pid: number) => !before.has(pid) && hasLeftSession(pid, shell.pid)
    const pids = () => new Set([...this.#members()].filter(isLeft))
    if (pids().size > 0) await endProcesses({ mark: null, leaders: new Set(), pids })
  }

  #members(): Set<number> {
    const path = this.#deps.group?.path ?? null
    return path === null ? new Set() : membersOf(path)
  }

  async #reset(): Promise<void> {
    if (this.#current !== null) this.#abandonCall()
    await Promise.all([this.#endShell(), this.#deps.endElsewhere?.()])
    this.#unreported = null
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

  /** Ends waiting calls with the outcome `lost`. The caller ends the processes of the shell. */
  close(): void {
    this.#isClosed = true
    if (this.#current !== null) this.#end(this.#current, { outcome: 'lost', exit_code: null, limit: null })
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
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? '')
  }
}
