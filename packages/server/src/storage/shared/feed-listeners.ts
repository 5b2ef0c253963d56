/** Whom a store calls after changes of conversations. */
export class FeedListeners {
  readonly #listeners = new Set<(user: string) => void>()

  subscribe(listener: (user: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reports a change of a conversation of `user`, which is durable. */
  changed(user: string): void {
    for (const listener of this.#listeners) listener(user)
  }
}

/** True for an append that the feed of the owner shows. */
export const isInFeed = (row: { updated_at?: string; record?: string; status?: string } | undefined): boolean =>
  row?.updated_at !== undefined || row?.record !== undefined || row?.status !== undefined
