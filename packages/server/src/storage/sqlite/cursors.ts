/** Where pages were cut, so that a listing goes on in its place although the row that names it has moved or is gone. */
import type { ConversationId } from '@parley/protocol'
import type { ConversationQuery } from '../storage.ts'

/** Cursors kept; a listing whose cursor was forgotten goes on at the present place of its row. */
const MAX_CURSORS = 1_000

/** `rank` tells tables apart that are listed together: at equal times a lower one stands first. */
export type Place = { at: string; n: number; rank: number }

/** Listings by a time that moves are told apart by their page size too; one of creation has its place for good. */
const keyOf = ({ owner, status, sort, limit }: ConversationQuery, id: ConversationId): string =>
  JSON.stringify([owner, status, sort, sort.startsWith('CREATED') ? null : limit, id])

export class Cursors {
  readonly #places = new Map<string, Place>()

  remember(query: ConversationQuery, id: ConversationId, place: Place): void {
    const key = keyOf(query, id)
    this.#places.delete(key)
    this.#places.set(key, place)
    if (this.#places.size <= MAX_CURSORS) return
    for (const oldest of this.#places.keys()) {
      this.#places.delete(oldest)
      break
    }
  }

  recall(query: ConversationQuery, id: ConversationId): Place | undefined {
    return this.#places.get(keyOf(query, id))
  }
}
