/**
 * The batches that clients of their users have received. A batch that waits stays received after a restart: its first reader marks
 * its note in the store. On a server of its own the write is not part of the read, so one that is killed at once may forget it. Of several
 * nodes, another one may get the answer of the client, so the read waits for it.
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
  readonly #isShared: boolean
  readonly #ids = new Set<string>()

  /** @param isShared several nodes use the store */
  constructor(notes: Pick<NoteStore, 'get' | 'change'>, isShared = false) {
    this.#notes = notes
    this.#isShared = isShared
  }

  async has(id: ConversationId, batchId: string): Promise<boolean> {
    return this.#ids.has(batchId) || (await this.#notes.get(id, 'batch', batchId)) === SHOWN
  }

  /** Call before an answer that contains the status of a conversation in this state is sent. */
  async addStatus(
    id: ConversationId,
    { execution_status: status, awaiting_approval: awaited }: ConversationState,
  ): Promise<void> {
    if (status === 'waiting_for_confirmation' && awaited !== null) await this.#add(id, [awaited.batch_id])
  }

  /** Call before an answer that contains these events is sent. */
  async addEvents(id: ConversationId, events: readonly StoredEvent[]): Promise<void> {
    const requests = events.filter(({ event }) => event.kind === 'ConfirmationRequestedEvent')
    await this.#add(
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
    // Watchers are at the owner, which also gets the answer and has the id in memory.
    if (item.kind === 'event') void this.addEvents(id, [item])
    else if (item.kind === 'snapshot' && item.batch_id !== undefined) void this.#add(id, [item.batch_id])
  }

  async #add(id: ConversationId, batches: readonly string[]): Promise<void> {
    const unknown = batches.filter((batch) => !this.#ids.has(batch))
    for (const batch of batches) {
      this.#ids.delete(batch)
      this.#ids.add(batch)
      const [oldest] = this.#ids
      if (this.#ids.size > MAX_BATCHES) this.#ids.delete(oldest!)
    }
    // A batch that waits no more has no note. After a failure the batch has to be read again after a restart.
    if (unknown.length === 0) return
    const written = this.#notes.change(id, 'batch', unknown, SHOWN).catch(() => undefined)
    if (this.#isShared) await written
  }
}
