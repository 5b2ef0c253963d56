/**
 * Decides when the events of a log go to one target: when enough events wait, when the oldest has waited long enough, or when
 * the conversation has ended. The store has the waiting events; this class has only the timers.
 */
import type { Log } from '../observability/index.ts'
import type { ConversationId } from '@parley/protocol'
import type { OutboxStore } from '../storage/index.ts'
import type { WebhookTarget } from './target.ts'

export type BatchDeps = {
  target: WebhookTarget
  outbox: Pick<OutboxStore, 'cut' | 'behind'>
  log: Pick<Log, 'error'>
}

/** `timer`: sends the waiting events even though they do not fill a batch. */
type WaitingEvents = { count: number; timer: NodeJS.Timeout | null }

export class Batches implements AsyncDisposable {
  readonly #deps: BatchDeps
  readonly #waiting = new Map<ConversationId, WaitingEvents>()
  readonly #cutting = new Set<Promise<void>>()
  #isClosed = false

  constructor(deps: BatchDeps) {
    this.#deps = deps
  }

  /** Sends the events at once that an earlier process left. */
  async resume(): Promise<void> {
    for (const id of await this.#deps.outbox.behind(this.#deps.target.base_url)) this.#cut(id, 1)
  }

  onAppend(id: ConversationId, events: number, hasEnded: boolean): void {
    const waiting = this.#waiting.get(id) ?? { count: 0, timer: null }
    this.#waiting.set(id, waiting)
    waiting.count += events
    if (hasEnded || waiting.count >= this.#deps.target.event_buffer_size) this.#cut(id, 1)
    else this.#startTimer(id, waiting)
  }

  /** Cuts the next batch if enough events wait. */
  onBatchEnd(id: ConversationId): void {
    this.#cut(id, this.#deps.target.event_buffer_size)
  }

  #startTimer(id: ConversationId, waiting: WaitingEvents): void {
    waiting.timer ??= setTimeout(() => {
      waiting.timer = null
      this.#cut(id, 1)
    }, this.#deps.target.flush_delay * 1000).unref()
  }

  #cut(id: ConversationId, atLeast: number): void {
    if (this.#isClosed) return
    const cutting = this.#cutNow(id, atLeast)
      .catch((error: unknown) => {
        if (this.#isClosed) return
        this.#deps.log.error({ err: error, conversation_id: id }, 'webhook batch not created')
        this.#wait(id, 1)
      })
      .finally(() => this.#cutting.delete(cutting))
    this.#cutting.add(cutting)
  }

  async #cutNow(id: ConversationId, atLeast: number): Promise<void> {
    const { target, outbox } = this.#deps
    const limits = { atLeast, atMost: target.event_buffer_size, maxBytes: target.max_batch_bytes }
    this.#stopWaiting(id)
    const { isCut, isBusy, left } = await outbox.cut(target.base_url, id, limits)
    // While a batch is being sent, its end cuts the next one.
    if (!isCut && !isBusy && left > 0) this.#wait(id, left)
  }

  #wait(id: ConversationId, count: number): void {
    if (this.#isClosed) return
    const waiting = this.#waiting.get(id) ?? { count: 0, timer: null }
    this.#waiting.set(id, waiting)
    waiting.count = Math.max(waiting.count, count)
    this.#startTimer(id, waiting)
  }

  #stopWaiting(id: ConversationId): void {
    const timer = this.#waiting.get(id)?.timer
    if (timer !== undefined && timer !== null) clearTimeout(timer)
    this.#waiting.delete(id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const id of this.#waiting.keys()) this.#stopWaiting(id)
    await Promise.all(this.#cutting)
  }
}
