/**
 * The batches that clients of their users have received. A batch that waits stays received after a restart: its first reader marks
 * its note in the store. The write is not part of the read, so a server that is killed at once may forget it.
 */
import type { ConversationId, ConversationState, StoredEvent } from '@parley/protocol'
import type { Note, NoteStore } from '../../storage/index.ts'
import type { Watcher, WatchItem } from '../conversations.ts'

/** Ids in memory, which save the write; the oldest are forgotten first. */
const MAX_BATCHES = 10_000
const SHOWN = 'shown'

/** The note of a batch, to be stored with its request. */
export const batchNote = (batchId: string): Note => ({ about: batchId, kind: 'batch', text: 'waiting' })

export class ShownBatches {
  readonly #notes: Pick<NoteStore, 'get' | 'change'>
  readonly #ids = new Set<string>()

  constructor(notes: Pick<NoteStore, 'get' | 'change'>) {
    this.#notes = notes
  }

  async has(id: ConversationId, batchId: string): Promise<boolean> {
    return this.#ids.has(batchId) || (await this.#notes.get(id, 'batch', batchId)) === SHOWN
  }

  /** Call when an answer contains the status of a conversation in this state. */
  addStatus(id: ConversationId, { execution_status: status, awaiting_approval: awaited }: ConversationState): void {
    if (status === 'waiting_for_confirmation' && awaited !== null) this.#add(id, [awaited.batch_id])
  }

  /** Call when an answer contains these events. */
  addEvents(id: ConversationId, events: readonly StoredEvent[]): void {
    const requests = events.filter(({ event }) => event.kind === 'ConfirmationRequestedEvent')
    this.#add(
      id,
      requests.map(({ event }) => event.id),
    )
  }

  /** Returns the watcher of a client: the batches in its items count as received. */
  noting(id: ConversationId, watcher: Watcher): Watcher {
    return {
      next: async (maxBytes) => {
        const items = await watcher.next(maxBytes)
        for (const item of items) this.#addItem(id, item)
        return items
      },
      [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose](),
    }
  }

  #addItem(id: ConversationId, item: WatchItem): void {
    if (item.kind === 'event') this.addEvents(id, [item])
    else if (item.kind === 'snapshot' && item.batch_id !== undefined) this.#add(id, [item.batch_id])
  }

  #add(id: ConversationId, batches: readonly string[]): void {
    const unknown = batches.filter((batch) => !this.#ids.has(batch))
    for (const batch of batches) {
      this.#ids.delete(batch)
      this.#ids.add(batch)
      const [oldest] = this.#ids
      if (this.#ids.size > MAX_BATCHES) this.#ids.delete(oldest!)
    }
    // A batch that waits no more has no note. After a failure the batch has to be read again after a restart.
    if (unknown.length > 0) this.#notes.change(id, 'batch', unknown, SHOWN).catch(() => undefined)
  }
}
