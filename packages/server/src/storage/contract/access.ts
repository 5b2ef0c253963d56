export type Role = 'admin' | 'user' | 'read-only' | 'webhook'

export type KeyRow = {
  /** Public id. */
  id: string
  user: string
  role: Role
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string
  label: string | null
  created_at: string
  expires_at: string | null
  revoked_at: string | null
}

export interface KeyStore {
  create(key: Omit<KeyRow, 'created_at' | 'revoked_at'>): Promise<KeyRow>
  /** Finds a key by its hash, including revoked and expired ones. */
  find(hash: string): Promise<KeyRow | null>
  list(): Promise<KeyRow[]>
  /** Revokes a key. False for an unknown id. Revoking twice keeps the first time. */
  revoke(id: string): Promise<boolean>
}

/** One answered request: user, action and result, without any content. */
export type AuditEntry = {
  /** ISO 8601, UTC, `Z`. */
  at: string
  user: string
  key_id: string
  /** Method and pattern of the route, such as `PUT /api/secrets/{secret_id}`. */
  action: string
  conversation_id: string | null
  /** Status of the answer. */
  status: number
}

/** `id` grows with every entry. */
export type AuditRow = AuditEntry & { id: number }

export interface AuditStore {
  add(entries: readonly AuditEntry[]): Promise<void>
  /** Entries, newest first. `after`: id of the last entry of the previous page. */
  list(query: { user?: string; limit: number; after?: number }): Promise<{ items: AuditRow[]; next: number | null }>
  /** Deletes a slice of the oldest entries beyond these bounds. Returns their number. */
  prune(bounds: { before: string; atMost: number }): Promise<number>
}
