/** What became of a request that carried an `Idempotency-Key`. */
export type KeyedRequest = {
  /** Digest of the request, which distinguishes a repetition from another request with the same key. */
  digest: string
  /** `begun`: it has no outcome yet. `answered`: it took effect. */
  state: 'begun' | 'answered'
  /** Cipher text of the answer. Null: it has none, or it is not kept. */
  sealed: string | null
}

/** Requests by user and `Idempotency-Key`. The key of one user says nothing about that of another. */
export interface IdempotencyStore {
  /** The request that began at `since` or later; null: none. Times are ISO 8601, UTC, `Z`. */
  get(user: string, key: string, since: string): Promise<KeyedRequest | null>
  /**
   * Stores that a request begins at `at`; replaces one that began before `since`. False, without a change, when the key is in use.
   * Resolves when that is durable.
   */
  begin(user: string, key: string, request: { digest: string; at: string; since: string }): Promise<boolean>
  /** Stores that a request took effect. Does nothing when its row was pruned. */
  answered(user: string, key: string, sealed: string | null): Promise<void>
  /** Forgets a request that changed nothing. */
  forget(user: string, key: string): Promise<void>
  /** Deletes a user's oldest requests beyond a number, and beyond a sum of bytes of their answers. Returns their number. */
  prune(user: string, bounds: { atMost: number; maxBytes: number }): Promise<number>
  /** Deletes a slice of the oldest requests of all users that began before a time. Returns their number. */
  expire(before: string): Promise<number>
}
