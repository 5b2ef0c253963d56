/** A login of a browser: it acts for the key that opened it. */
export type LoginSessionRow = {
  /** Public id. */
  id: string
  user: string
  /** SHA-256 of the token, hex. The token itself is never stored. */
  hash: string
  /** SHA-256 of the key that the session belongs to, hex; the key may be one of the environment. */
  key_hash: string
  label: string | null
  created_at: string
  last_used_at: string
  expires_at: string
}

/** A code that opens one session. */
export type LoginCodeRow = {
  /** SHA-256 of the code, hex. */
  hash: string
  user: string
  /** SHA-256 of the key that the session will belong to, hex. */
  key_hash: string
  created_at: string
  expires_at: string
}

export interface LoginStore {
  /**
   * Stores a session. In the same transaction, sessions of the user that had expired by `created_at` are deleted, and of those of its
   * key beyond `atMost` the ones that were used least recently.
   */
  create(session: LoginSessionRow, atMost: number): Promise<void>
  /** Finds a session by the hash of its token, including expired ones. */
  find(hash: string): Promise<LoginSessionRow | null>
  /** Records a use; nothing happens for an unknown id. */
  touch(id: string, times: Pick<LoginSessionRow, 'last_used_at' | 'expires_at'>): Promise<void>
  /** Sessions of a user, oldest first, including expired ones. */
  list(user: string): Promise<LoginSessionRow[]>
  /** Deletes a session of a user. False for an unknown id. */
  remove(user: string, id: string): Promise<boolean>
  /**
   * Stores a code. In the same transaction, codes of the user that had expired by `created_at` are deleted, and of those of its key
   * beyond `atMost` the oldest ones.
   */
  addCode(code: LoginCodeRow, atMost: number): Promise<void>
  /** Deletes and returns a code, including an expired one; null for an unknown one. Of several calls at once, one gets it. */
  takeCode(hash: string): Promise<LoginCodeRow | null>
}
