/** Positions of page boundaries, so that a listing continues there although the row of its cursor has moved or was deleted. */
import type { ConversationId } from '@parley/protocol'
import type { ConversationQuery } from '../contract/conversations.ts'

/** Cursors kept; a listing with a dropped cursor continues at the present position of its row. */
const MAX_CURSORS = 1_000

/** `rank` distinguishes tables that are listed together: rows of the same time are ordered by rank. */
export type Place = { at: string; n: number; rank: number }

/** Positions by a changing time depend on the page size too; positions by the time of creation never change. */
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
