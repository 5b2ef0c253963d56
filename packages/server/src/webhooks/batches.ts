/**
 * Decides when the events of a log go to one target: when enough wait, when the oldest has waited long enough, or when the
 * conversation is over. What waits is known to the store; here are only the timers.
 */
import type { ConversationId } from '@parley/protocol'
import type { OutboxStore } from '../storage/index.ts'
import type { WebhookTarget } from './target.ts'

export type BatchDeps = {
  target: WebhookTarget
  outbox: Pick<OutboxStore, 'cut' | 'behind'>
  log: { error(fields: object, message: string): void }
}

/** `timer`: until the events that wait are sent although they are few. */
type Waiting = { count: number; timer: NodeJS.Timeout | null }

export class Batches implements AsyncDisposable {
  readonly #deps: BatchDeps
  readonly #waiting = new Map<ConversationId, Waiting>()
  readonly #cutting = new Set<Promise<void>>()
  #isClosed = false

  constructor(deps: BatchDeps) {
    this.#deps = deps
  }

  /** Sends at once what an earlier process left waiting. */
  async resume(): Promise<void> {
    for (const id of await this.#deps.outbox.behind(this.#deps.target.base_url)) this.#cut(id, 1)
  }

  appended(id: ConversationId, events: number, isOver: boolean): void {
    const waiting = this.#waiting.get(id) ?? { count: 0, timer: null }
    this.#waiting.set(id, waiting)
    waiting.count += events
    if (isOver || waiting.count >= this.#deps.target.event_buffer_size) this.#cut(id, 1)
    else this.#arm(id, waiting)
  }

  /** The batch before is over: enough may wait for the next one. */
  over(id: ConversationId): void {
    this.#cut(id, this.#deps.target.event_buffer_size)
  }

  #arm(id: ConversationId, waiting: Waiting): void {
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
        this.#deps.log.error({ err: error, conversation_id: id }, 'a batch of events could not be made')
        this.#keep(id, 1)
      })
      .finally(() => this.#cutting.delete(cutting))
    this.#cutting.add(cutting)
  }

  async #cutNow(id: ConversationId, atLeast: number): Promise<void> {
    const { target, outbox } = this.#deps
    const limits = { atLeast, atMost: target.event_buffer_size, maxBytes: target.max_batch_bytes }
    this.#forget(id)
    const { isCut, isBusy, left } = await outbox.cut(target.base_url, id, limits)
    // While a batch is under way its end brings us back.
    if (!isCut && !isBusy && left > 0) this.#keep(id, left)
  }

  #keep(id: ConversationId, count: number): void {
    if (this.#isClosed) return
    const waiting = this.#waiting.get(id) ?? { count: 0, timer: null }
    this.#waiting.set(id, waiting)
    waiting.count = Math.max(waiting.count, count)
    this.#arm(id, waiting)
  }

  #forget(id: ConversationId): void {
    const timer = this.#waiting.get(id)?.timer
    if (timer !== undefined && timer !== null) clearTimeout(timer)
    this.#waiting.delete(id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const id of this.#waiting.keys()) this.#forget(id)
    await Promise.all(this.#cutting)
  }
}
