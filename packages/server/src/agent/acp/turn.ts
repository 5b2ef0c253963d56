/**
 * One prompt to an external agent: what it tells while it works, and how it ends. Nothing here is stored; whoever drives the
 * turn takes what happened, in order, and stores it.
 *
 * Invariants
 *   T1. After its end nothing of the turn happens any more.
 *   T2. While a person is asked, silence is not counted.
 *   T3. A cancelled turn answers every request for permission; its agent is told once.
 */
import { abortable } from '../../lib/index.ts'
import type { LlmDelta } from '../../llm/index.ts'
import type { Connection, PermissionAnswer, PermissionRequest, Update } from './connection.ts'
import { isRequestFailure, INTERNAL_ERROR, promptFailure, type AcpFailure } from './failure.ts'
import { CANCELLED } from './permission.ts'
import type { PromptBlock } from './prompts.ts'
import { ToolCalls, type ToolCall } from './tool-calls.ts'
import { heard, type Spent } from './usage.ts'

/** Milliseconds that a cancelled prompt gets to settle. Source: agent-core.md 11.1. */
const DRAIN_MS = 2000
/** Characters of an answer that are kept; what comes later is dropped and said to be. */
const MAX_TEXT_CHARS = 4_000_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

export type TurnEnd =
  | { kind: 'completed'; answer: Record<string, unknown> }
  /** `mayRetry`: the way to the agent failed, or it failed inside. */
  | { kind: 'failed'; failure: AcpFailure; mayRetry: boolean }
  | { kind: 'silent' }
  | { kind: 'cancelled' }

export type Asking = { request: PermissionRequest; call: ToolCall; answer: (answer: PermissionAnswer) => void }

export type Happening =
  | { kind: 'call'; call: ToolCall }
  | { kind: 'permission'; asking: Asking }
  | { kind: 'usage' }
  | { kind: 'later' }
  | { kind: 'end'; end: TurnEnd }

export type TurnParts = {
  connection: Connection
  sessionId: string
  /** Milliseconds of silence after which the turn is given up. */
  idleMs: number
  emit: (delta: LlmDelta) => void
  spent: Spent
}

export class PromptTurn {
  readonly calls = new ToolCalls()
  readonly startedAt = performance.now()
  text = ''
  reasoning = ''
  spent: Spent
  /** Whether the agent has said since the start of the turn what it costs. */
  hasUsage = false
  readonly #parts: TurnParts
  readonly #happened: Happening[] = []
  #wake = Promise.withResolvers<void>()
  readonly #asking = new Set<Asking>()
  readonly #settled = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | null = null
  #end: TurnEnd | null = null
  #answer: Record<string, unknown> | null = null
  #isSettled = false
  #cancelling: Promise<void> | null = null

  constructor(parts: TurnParts) {
    this.#parts = parts
    this.spent = parts.spent
  }

  /** Asks. What comes of it happens. */
  start(prompt: readonly PromptBlock[]): void {
    const { connection, sessionId } = this.#parts
    this.#arm()
    connection.request('session/prompt', { sessionId, prompt }, new AbortController().signal).then(
      (answer) => this.#settle({ kind: 'completed', answer }),
      (error: unknown) => {
        const mayRetry = !connection.isOpen || (isRequestFailure(error) && error.code === INTERNAL_ERROR)
        this.#settle({ kind: 'failed', failure: promptFailure(error), mayRetry })
      },
    )
  }

  get end(): TurnEnd | null {
    return this.#end
  }

  /** The agent has answered the prompt, however late: its session is as it should be. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  hear({ update }: Update): void {
    if (this.#end !== null && this.#isSettled) {
      if (update.sessionUpdate === 'usage_update') this.#heardUsage(update)
      return
    }
    this.#touch()
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#said(textOf(update), 'text')
      case 'agent_thought_chunk':
        return this.#said(textOf(update), 'reasoning')
      case 'usage_update':
        return this.#heardUsage(update)
      case 'tool_call':
        return this.#called(this.calls.begin(update))
      case 'tool_call_update':
        return this.#called(this.calls.progress(update))
      default:
        return
    }
  }

  /** A request for permission; resolves when it is decided. */
  ask(request: PermissionRequest): Promise<PermissionAnswer> {
    if (this.#end !== null || this.#cancelling !== null) return Promise.resolve(CANCELLED)
    const decided = Promise.withResolvers<PermissionAnswer>()
    const { call, isNew } = this.calls.know(request.toolCall)
    // Some agents tell of a call only by asking for it.
    if (isNew) this.#push({ kind: 'call', call })
    const asking: Asking = {
      request,
      call,
      answer: (answer) => {
        if (!this.#asking.delete(asking)) return
        decided.resolve(answer)
      },
    }
    this.#asking.add(asking)
    this.#touch()
    this.#push({ kind: 'permission', asking })
    return decided.promise
  }

  /** A call that was refused has failed, whether or not the agent says so. */
  refused(callId: string): void {
    this.#called(this.calls.progress({ toolCallId: callId, status: 'failed' }))
  }

  /** Counts silence, or does not: a person is being asked. */
  set isWaiting(waits: boolean) {
    if (waits) this.#disarm()
    else this.#arm()
  }

  /** Makes something happen after a while, so that whoever drives the turn looks again. */
  lookAgain(ms: number): void {
    setTimeout(() => {
      if (this.#end === null) this.#push({ kind: 'later' })
    }, ms).unref()
  }

  /** What happened next; waits for it. Rejects with the signal's reason. */
  async next(signal: AbortSignal): Promise<Happening> {
    for (;;) {
      const happening = this.#happened.shift()
      if (happening !== undefined) return happening
      this.#wake = Promise.withResolvers<void>()
      await abortable(this.#wake.promise, signal)
    }
  }

  /** What has happened and was not taken yet. */
  drain(): Happening[] {
    return this.#happened.splice(0)
  }

  /** Tells the agent to stop, and waits a little for it to do so. The turn then has an end. Safe to call twice. */
  cancel(end: TurnEnd = { kind: 'cancelled' }): Promise<void> {
    this.#cancelling ??= this.#stop(end)
    return this.#cancelling
  }

  /** Resolves with the next word about the cost, or when `ms` have passed without one. */
  async usageWithin(ms: number, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ms)])
    while (!this.hasUsage && !deadline.aborted) {
      this.#wake = Promise.withResolvers<void>()
      await abortable(this.#wake.promise, deadline).catch(() => undefined)
    }
    signal.throwIfAborted()
  }

  async #stop(end: TurnEnd): Promise<void> {
    if (this.#end !== null) return
    const { connection, sessionId } = this.#parts
    this.#disarm()
    for (const asking of this.#asking) asking.answer(CANCELLED)
    await connection.notify('session/cancel', { sessionId })
    await abortable(this.#settled.promise, AbortSignal.timeout(DRAIN_MS)).catch(() => undefined)
    // It may have been done in the same moment: then it is done.
    const isDone = this.#answer !== null && this.#answer['stopReason'] !== 'cancelled'
    this.#finish(isDone ? { kind: 'completed', answer: this.#answer! } : end)
  }

  #settle(end: TurnEnd): void {
    this.#isSettled = end.kind === 'completed' || (end.kind === 'failed' && this.#parts.connection.isOpen)
    if (end.kind === 'completed') this.#answer = end.answer
    this.#settled.resolve()
    if (this.#cancelling === null) this.#finish(end)
  }

  #finish(end: TurnEnd): void {
    if (this.#end !== null) return
    this.#disarm()
    this.#end = end
    for (const asking of this.#asking) asking.answer(CANCELLED)
    this.#push({ kind: 'end', end })
  }

  #said(text: string, where: 'text' | 'reasoning'): void {
    if (text === '' || this[where].length >= MAX_TEXT_CHARS) return
    this[where] += text
    if (this[where].length >= MAX_TEXT_CHARS) this[where] += '\n[The rest is left out: the answer is too long.]'
    if (where === 'text') this.#parts.emit({ content: text })
    else this.#parts.emit({ reasoning_content: text })
  }

  #called(call: ToolCall | null): void {
    if (call !== null && this.#end === null) this.#push({ kind: 'call', call })
  }

  #heardUsage(update: Record<string, unknown>): void {
    this.spent = heard(this.spent, update)
    this.hasUsage = true
    if (this.#end === null) this.#push({ kind: 'usage' })
    else this.#wake.resolve()
  }

  #push(happening: Happening): void {
    this.#happened.push(happening)
    this.#wake.resolve()
  }

  #touch(): void {
    this.#timer?.refresh()
  }

  #arm(): void {
    this.#disarm()
    if (this.#end !== null || this.#cancelling !== null) return
    const ms = Math.min(this.#parts.idleMs, LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => void this.cancel({ kind: 'silent' }), ms)
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

function textOf({ content }: Record<string, unknown>): string {
  const block = typeof content === 'object' && content !== null ? (content as Record<string, unknown>) : {}
  return block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : ''
}
