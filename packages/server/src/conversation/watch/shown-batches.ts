/** The batches that clients of their users have received. A batch that is forgotten has to be read again before a run approves it. */
import { type ConversationState, type StoredEvent } from '@parley/protocol'
import type { Watcher, WatchItem } from '../conversations.ts'

/** The oldest are forgotten first. */
const MAX_BATCHES = 10_000

export class ShownBatches {
  readonly #ids = new Set<string>()

  has(batchId: string): boolean {
    return this.#ids.has(batchId)
  }

  /** Call when an answer contains the status of a conversation in this state. */
  addStatus({ execution_status: status, awaiting_approval: awaited }: ConversationState): void {
    if (status === 'waiting_for_confirmation' && awaited !== null) this.#add(awaited.batch_id)
  }

  /** Call when an answer contains these events. */
  addEvents(events: readonly StoredEvent[]): void {
    for (const { event } of events) if (event.kind === 'ConfirmationRequestedEvent') this.#add(event.id)
  }

  /** Returns the watcher of a client: the batches in its items count as received. */
  noting(watcher: Watcher): Watcher {
    return {
      next: async (maxBytes) => {
        const items = await watcher.next(maxBytes)
        for (const item of items) this.#addItem(item)
        return items
      },
      [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
    }
  }

  #addItem(item: WatchItem): void {
    if (item.kind === 'event') this.addEvents([item])
    else if (item.kind === 'snapshot' && item.batch_id !== undefined) this.#add(item.batch_id)
  }

  #add(id: string): void {
    this.#ids.delete(id)
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > MAX_BATCHES) this.#ids.delete(oldest!)
  }
}
