import type { ConversationId } from '@parley/protocol'

/** Ids that are remembered, about 100 bytes each. */
const MAX_IDS = 5_000

/**
 * Conversations that this node owns for certain while it holds its lease, so that requests about them ask the store nothing. The least recently
 * used leave first.
 */
export class Owned {
  readonly #ids = new Set<ConversationId>()

  has(id: ConversationId): boolean {
    if (!this.#ids.delete(id)) return false
    this.#ids.add(id)
    return true
  }

  add(id: ConversationId): void {
    this.#ids.delete(id)
    this.#ids.add(id)
    if (this.#ids.size <= MAX_IDS) return
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest)
      return
    }
  }

  clear(): void {
    this.#ids.clear()
  }
}
