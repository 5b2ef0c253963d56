import type { ConversationId } from '@parley/protocol'

/** Conversations that are not loaded for the moment, because a copy of them ends its work, or because they are being deleted. */
export class Holds {
  readonly #holds = new Map<ConversationId, Set<Promise<void>>>()

  /** Holds a conversation until it is disposed. There may be several holds of one conversation. */
  hold(id: ConversationId): Disposable {
    const { promise, resolve } = Promise.withResolvers<void>()
    const holds = this.#holds.get(id) ?? new Set()
    this.#holds.set(id, holds.add(promise))
    return {
      [Symbol.dispose]: () => {
        holds.delete(promise)
        if (holds.size === 0 && this.#holds.get(id) === holds) this.#holds.delete(id)
        resolve()
      },
    }
  }

  has(id: ConversationId): boolean {
    return this.#holds.has(id)
  }

  /** Resolves when no hold of the conversation is left. */
  async ended(id: ConversationId): Promise<void> {
    for (let holds = this.#holds.get(id); holds !== undefined; holds = this.#holds.get(id)) await Promise.all(holds)
  }
}
