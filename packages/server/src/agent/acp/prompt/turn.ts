/**
 * One prompt to an external agent: its updates and its end, as a queue of events. The turn stores nothing; the prompt runner
 * takes the events in order and stores their drafts.
 *
 * Invariants
 *   T1. After its end, a turn has no more events.
 *   T2. The idle timer stops while a person decides.
 *   T3. A cancelled turn answers every permission request; the agent gets one cancellation.
 */
import { abortable } from '../../../lib/index.ts'
import type { LlmDelta } from '../../../llm/index.ts'
import {
  CANCELLED,
  type Connection,
  type PermissionAnswer,
  type PermissionRequest,
  type Update,
} from '../process/connection.ts'
import { isRequestFailure, INTERNAL_ERROR, promptFailure, type AcpFailure } from '../failure.ts'
import type { PendingPermission } from '../permission/permission.ts'
import type { PromptBlock } from './prompts.ts'
import { ToolCalls, type ToolCall } from '../tool-calls.ts'
import { withUsageUpdate, type SessionUsage } from '../session/usage.ts'

/** Milliseconds that a cancelled prompt gets to settle. Source: agent-core.md 11.1. */
const DRAIN_MS = 2000
/** Characters of an answer that are kept; the rest is replaced by a note. */
const MAX_TEXT_CHARS = 4_000_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

export type TurnEnd =
  | { kind: 'completed'; answer: Record<string, unknown> }
  /** `mayRetry`: the connection failed, or the agent had an internal error. */
  | { kind: 'failed'; failure: AcpFailure; mayRetry: boolean }
  | { kind: 'silent' }
  | { kind: 'cancelled' }

export type TurnEvent =
  | { kind: 'call'; call: ToolCall }
  | { kind: 'permission'; pending: PendingPermission }
  | { kind: 'usage' }
  | { kind: 'wake' }
  | { kind: 'end'; end: TurnEnd }

export type TurnDeps = {
  connection: Connection
  sessionId: string
  /** Milliseconds without an update after which the turn is cancelled. */
  idleMs: number
  emit: (delta: LlmDelta) => void
  usage: SessionUsage
}

export class PromptTurn {
  readonly calls = new ToolCalls()
  readonly startedAt = performance.now()
  text = ''
  reasoning = ''
  usage: SessionUsage
  /** True when the agent has reported its cost since the start of the turn. */
  hasUsage = false
  readonly #deps: TurnDeps
  readonly #events: TurnEvent[] = []
  #wake = Promise.withResolvers<void>()
  readonly #pending = new Set<PendingPermission>()
  readonly #settled = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | null = null
  #end: TurnEnd | null = null
  #answer: Record<string, unknown> | null = null
  #isSettled = false
  #cancelling: Promise<void> | null = null

  constructor(deps: TurnDeps) {
    this.#deps = deps
    this.usage = deps.usage
  }

  /** Sends the prompt. */
  start(prompt: readonly PromptBlock[]): void {
    const { connection, sessionId } = this.#deps
    this.#startTimer()
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

  /** True when the agent has answered the prompt, however late, so that its session can be used again. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  onUpdate({ update }: Update): void {
    if (this.#end !== null && this.#isSettled) {
      if (update.sessionUpdate === 'usage_update') this.#updateUsage(update)
      return
    }
    this.#resetTimer()
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#appendText(textOf(update), 'text')
      case 'agent_thought_chunk':
        return this.#appendText(textOf(update), 'reasoning')
      case 'usage_update':
        return this.#updateUsage(update)
      case 'tool_call':
        return this.#pushCall(this.calls.begin(update))
      case 'tool_call_update':
        return this.#pushCall(this.calls.progress(update))
      default:
        return
    }
  }

  /** Queues a permission request; resolves with the decision. */
  onPermissionRequest(request: PermissionRequest): Promise<PermissionAnswer> {
    if (this.#end !== null || this.#cancelling !== null) return Promise.resolve(CANCELLED)
    const decided = Promise.withResolvers<PermissionAnswer>()
    const { call, isNew } = this.calls.fromPermission(request.toolCall)
    // Some agents report a call only by its permission request.
    if (isNew) this.#push({ kind: 'call', call })
    const pending: PendingPermission = {
      request,
      call,
      answer: (answer) => {
        if (!this.#pending.delete(pending)) return
        decided.resolve(answer)
      },
    }
    this.#pending.add(pending)
    this.#resetTimer()
    this.#push({ kind: 'permission', pending })
    return decided.promise
  }

  /** Marks a refused call as failed, because some agents do not report it. */
  failCall(callId: string): void {
    this.#pushCall(this.calls.progress({ toolCallId: callId, status: 'failed' }))
  }

  /** Stops the idle timer while a person decides. */
  set isWaitingForPerson(isWaiting: boolean) {
    if (isWaiting) this.#stopTimer()
    else this.#startTimer()
  }

  /** Adds a `wake` event after `ms` milliseconds. */
  wakeAfter(ms: number): void {
    setTimeout(() => {
      if (this.#end === null) this.#push({ kind: 'wake' })
    }, ms).unref()
  }

  /** Waits for the next event. Rejects with the signal's reason. */
  async next(signal: AbortSignal): Promise<TurnEvent> {
    for (;;) {
      const event = this.#events.shift()
      if (event !== undefined) return event
      this.#wake = Promise.withResolvers<void>()
      await abortable(this.#wake.promise, signal)
    }
  }

  /** Takes all queued events. */
  drain(): TurnEvent[] {
    return this.#events.splice(0)
  }

  /** Cancels the prompt, waits at most `DRAIN_MS` for the agent to settle, and ends the turn. Safe to call twice. */
  cancel(end: TurnEnd = { kind: 'cancelled' }): Promise<void> {
    this.#cancelling ??= this.#stop(end)
    return this.#cancelling
  }

  /** Resolves with the next report of the cost, or after `ms` milliseconds. */
  async waitForUsage(ms: number, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(ms)])
    while (!this.hasUsage && !deadline.aborted) {
      this.#wake = Promise.withResolvers<void>()
      await abortable(this.#wake.promise, deadline).catch(() => undefined)
    }
    signal.throwIfAborted()
  }

  async #stop(end: TurnEnd): Promise<void> {
    if (this.#end !== null) return
    const { connection, sessionId } = this.#deps
    this.#stopTimer()
    for (const pending of this.#pending) pending.answer(CANCELLED)
    await connection.notify('session/cancel', { sessionId })
    await abortable(this.#settled.promise, AbortSignal.timeout(DRAIN_MS)).catch(() => undefined)
    // An answer that arrived at the same moment counts.
    const isDone = this.#answer !== null && this.#answer['stopReason'] !== 'cancelled'
    this.#finish(isDone ? { kind: 'completed', answer: this.#answer! } : end)
  }

  #settle(end: TurnEnd): void {
    this.#isSettled = end.kind === 'completed' || (end.kind === 'failed' && this.#deps.connection.isOpen)
    if (end.kind === 'completed') this.#answer = end.answer
    this.#settled.resolve()
    if (this.#cancelling === null) this.#finish(end)
  }

  #finish(end: TurnEnd): void {
    if (this.#end !== null) return
    this.#stopTimer()
    this.#end = end
    for (const pending of this.#pending) pending.answer(CANCELLED)
    this.#push({ kind: 'end', end })
  }

  #appendText(text: string, target: 'text' | 'reasoning'): void {
    if (text === '' || this[target].length >= MAX_TEXT_CHARS) return
    this[target] += text
    if (this[target].length >= MAX_TEXT_CHARS) this[target] += '\n[The rest is left out: the answer is too long.]'
    if (target === 'text') this.#deps.emit({ content: text })
    else this.#deps.emit({ reasoning_content: text })
  }

  #pushCall(call: ToolCall | null): void {
    if (call !== null && this.#end === null) this.#push({ kind: 'call', call })
  }

  #updateUsage(update: Record<string, unknown>): void {
    this.usage = withUsageUpdate(this.usage, update)
    this.hasUsage = true
    if (this.#end === null) this.#push({ kind: 'usage' })
    else this.#wake.resolve()
  }

  #push(event: TurnEvent): void {
    this.#events.push(event)
    this.#wake.resolve()
  }

  #resetTimer(): void {
    this.#timer?.refresh()
  }

  #startTimer(): void {
    this.#stopTimer()
    if (this.#end !== null || this.#cancelling !== null) return
    const ms = Math.min(this.#deps.idleMs, LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => void this.cancel({ kind: 'silent' }), ms)
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

function textOf({ content }: Record<string, unknown>): string {
  const block = typeof content === 'object' && content !== null ? (content as Record<string, unknown>) : {}
  return block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : ''
}
