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
import { BoundedOutput, type Sealed } from '../ledger/bounded-output.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Refusal, type TerminalAnswer, type TerminalSpec } from '../ipc/protocol.ts'
import { joined, replyTerminal, type Reply } from '../ipc/reply.ts'
import { CurrentShell, type CurrentShellDeps } from './current-shell.ts'
import { ElsewhereCalls } from './elsewhere.ts'
import { hasTooLongLine, inputBytes, MAX_INPUT_LINE_BYTES } from './keys.ts'
import { TerminalCall } from './terminal-call.ts'
import * as texts from './texts.ts'

/** Bytes of output kept for one call. */
const MAX_OUTPUT_BYTES = 2 * 1024 * 1024
const PEEK_CHARS = 8_000
/** Characters of the output so far that a request gets which attaches to a running call. */
const SHOWN_CHARS = 64 * 1024

type Ending = { outcome: 'exited' | 'lost'; exit_code: number | null }

export type TerminalDeps = CurrentShellDeps & {
  ledger: Ledger
  /** Called when there may be nothing left to keep. */
  onChange: () => void
  /** Ends the processes of this conversation that runners of other protocols started. */
  endElsewhere?: () => Promise<void>
}

export class Terminal {
  readonly #deps: TerminalDeps
  readonly #elsewhere: ElsewhereCalls
  readonly #shell: CurrentShell
  #output: BoundedOutput
  #running: string | null = null
  /** Exit of the last command, until a call has reported it. */
  #unreported: Ending | null = null
  #current: TerminalCall | null = null
  #lastOutputAt = 0
  #opening: Promise<unknown> = Promise.resolve()
  /** True once there was a shell, whose state the next one does not have. */
  #hadShell = false
  /** Epoch of the newest owner. Requests with an older one are refused. */
  #epoch = 0

  constructor(deps: TerminalDeps) {
    this.#deps = deps
    this.#elsewhere = new ElsewhereCalls({ ...deps, answer: (ending) => this.#answer(ending) })
    this.#shell = new CurrentShell(deps, {
      onText: (text) => this.#print(text),
      onReport: ({ exit_code }) => this.#ended({ outcome: 'exited', exit_code }),
      onExit: (code) => this.#lost(code),
    })
    this.#output = this.#newOutput()
  }

  get pid(): number | null {
    return this.#shell.pid
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
      if (this.#current?.spec.callId === spec.callId) {
        this.#attend(this.#current, reply)
        // The sender attaches after a restart, and has seen nothing of it.
        if (spec.isLive === true && reply.isOpen) reply.live(this.#unread().slice(-SHOWN_CHARS))
        return
      }
      const over = ledger.elsewhere(conversation, spec.callId)
      if (over !== null) return void this.#elsewhere.follow(spec, over, reply)
      throw new Refusal('invalid_input', `call ${spec.callId} is under way and is not one of this terminal`)
    }
    const refusal = this.#refusal(spec)
    if (refusal !== null) return this.#refuse(reply, refusal)
    if (spec.reset) await this.#reset()
    if (this.#running === null && spec.command !== '') await this.#ensureShell(spec)
    // The sender disconnected before the call began.
    if (!reply.isOpen) return
    if (this.#current !== null) this.#abandonCall()
    const isLook = spec.command === ''
    await ledger.begin(conversation, spec.callId, !isLook)
    ledger.began(conversation, spec.callId, this.pid)
    const call = new TerminalCall(spec, {
      lastOutputAt: () => this.#lastOutputAt,
      onLimit: (limit) => this.#end(call, { outcome: 'running', exit_code: null, limit }),
    })
    this.#current = call
    this.#attend(call, reply)
    this.#act(call)
  }

  /** Executes the call. While its intent was written, the command or the shell may have ended. */
  #act(call: TerminalCall): void {
    const { spec } = call
    if (this.#running !== null) {
      if (spec.isInput) this.#shell.type(inputBytes(spec.command))
      return
    }
    if (spec.command !== '' && !spec.isInput) return this.#start(call)
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
    this.#shell.flush()
    const text = this.#unread()
    const shown = text === '' ? '' : `${text.slice(-PEEK_CHARS).trimEnd()}\n`
    reply.chunk('stdout', Buffer.from(`${shown}[${reason}]`))
    reply.ok({
      ...this.#answer({ outcome: 'refused', exit_code: null, limit: null }),
      busyWith: this.#running,
      dropped: 0,
    })
  }

  #unread(): string {
    return joined(this.#output.read(), this.#output.chars).text
  }

  #start(call: TerminalCall): void {
    const { command, env = {} } = call.spec
    if (this.#shell.pid === null) return this.#end(call, { outcome: 'lost', exit_code: null, limit: null })
    if (this.#unreported !== null) this.#output.appendText(`[${texts.previousEnded(this.#unreported)}]\n`)
    this.#unreported = null
    this.#running = command
    this.#lastOutputAt = performance.now()
    this.#shell.run(command, env)
  }

  async #ensureShell({ cwd, box = null, setup = null }: TerminalSpec): Promise<void> {
    if (!(await this.#shell.ensure(cwd, box, setup))) return
    const { conversation, ledger } = this.#deps
    const hadShell = this.#hadShell || ledger.hasAdopted(conversation)
    if (hadShell && this.#unreported === null) this.#output.appendText(`[${texts.newShell()}]\n`)
    this.#hadShell = true
  }

  #print(text: string): void {
    this.#output.appendText(text)
    this.#current?.show(text)
    this.#lastOutputAt = performance.now()
  }

  #lost(exit_code: number): void {
    if (this.#running !== null) this.#ended({ outcome: 'lost', exit_code })
    this.#deps.onChange()
  }

  /** The running command has ended, or its shell under it. */
  #ended(ending: Ending): void {
    this.#running = null
    if (this.#current === null) this.#unreported = ending
    else this.#end(this.#current, { ...ending, limit: null })
  }

  #attend(call: TerminalCall, reply: Reply): void {
    // While the intent was written, a newer owner may have arrived. The call is on record, so it begins, and that owner attaches to it.
    if (!this.#refuseStale(reply)) call.attend(reply)
  }

  #end(call: TerminalCall, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>): void {
    this.#shell.flush()
    const sealed = this.#output.seal()
    this.#output = this.#newOutput()
    this.#record(call, how, sealed)
  }

  #record(call: TerminalCall, how: Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>, stdout: Sealed): void {
    const { conversation, ledger, onChange } = this.#deps
    const waiting = call.end()
    if (this.#current === call) this.#current = null
    const result = { exit_code: how.exit_code, signal: null, answer: this.#answer(how), stdout, stderr: null }
    ledger.end(conversation, call.spec.callId, result)
    for (const reply of waiting) replyTerminal(reply, ledger.outputs, result)
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
    return { outcome, exit_code, limit, ...this.#shell.facts, busyWith: null }
  }

  /** The sender no longer waits; the command continues. */
  leave(reply: Reply): void {
    this.#elsewhere.waiting.delete(reply)
    this.#current?.leave(reply)
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

  /** Sends Ctrl-C to the running command, or to the one that is being started. */
  async interrupt(): Promise<void> {
    await this.#opening
    if (this.#running !== null) await this.#shell.interrupt()
  }

  async #reset(): Promise<void> {
    if (this.#current !== null) this.#abandonCall()
    await Promise.all([this.#shell.end(), this.#deps.endElsewhere?.()])
    this.#unreported = null
    this.#running = null
    this.#hadShell = false
    this.#output.discard()
    this.#output = this.#newOutput()
  }

  /** Ends waiting calls with the outcome `lost`. The caller ends the processes of the shell. */
  close(): void {
    if (this.#current !== null) this.#end(this.#current, { outcome: 'lost', exit_code: null, limit: null })
    this.#shell.close()
    this.#running = null
    this.#output.discard()
  }

  #newOutput(): BoundedOutput {
    return new BoundedOutput(this.#deps.ledger.outputs, MAX_OUTPUT_BYTES)
  }
}
