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

/** One answered request, or several alike: user, action and result, without any content. */
export type AuditEntry = {
  /** Time of the first request. ISO 8601, UTC, `Z`. */
  at: string
  /** Time of the last of several requests; null: there was one. */
  until: string | null
  /** Number of requests. */
  count: number
  /** Empty: the key was unknown. */
  user: string
  key_id: string
  /** Method and pattern of the route, such as `PUT /api/secrets/{secret_id}`. */
  action: string
  conversation_id: string | null
  /** Status of the answer. */
  status: number
  /** The user that the request was about, such as the one who got a key. */
  subject: string | null
  /** Facts from the server, such as the id of that key or the address of a wrong one. Never part of a body. */
  detail: string | null
}

/** What changes in an entry when the same request is made again. */
export type AuditRepeat = { id: number } & Pick<AuditEntry, 'until' | 'count' | 'conversation_id'>

/** `id` grows with every entry. */
export type AuditRow = AuditEntry & { id: number }

export interface AuditStore {
  /** Adds entries and changes earlier ones, in one transaction; an entry that was deleted stays so. Returns the ids of the new ones. */
  write(entries: readonly AuditEntry[], repeats: readonly AuditRepeat[]): Promise<number[]>
  /** Entries, newest first. `after`: id of the last entry of the previous page. */
  list(query: { user?: string; limit: number; after?: number }): Promise<{ items: AuditRow[]; next: number | null }>
  /** Users with entries. */
  users(): Promise<string[]>
  /** Deletes a slice of the oldest entries: of all users before a time, and of one user beyond a number. Returns their number. */
  prune(bounds: { before: string; user: string; atMost: number }): Promise<number>
}
