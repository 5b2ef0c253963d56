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

/** How a user comes into being. `isOnly`: not beside other users. `settings`: the first ones, as stored; null: none. */
export type NewUser = { isOnly: boolean; settings: string | null }

export interface KeyStore {
  /**
   * Stores a key and, if it is the first one, its user. `newUser` default: any number of users, without settings.
   * @throws ParleyError `forbidden` for a user beside other ones with `isOnly`; `conflict` for a user that is being deleted.
   */
  create(key: Omit<KeyRow, 'created_at' | 'revoked_at'>, newUser?: NewUser): Promise<KeyRow>
  /** Finds a key by its hash, including revoked and expired ones; null also for a key whose user is not active. */
  find(hash: string): Promise<KeyRow | null>
  list(): Promise<KeyRow[]>
  /** Revokes a key. False for an unknown id. Revoking twice keeps the first time. */
  revoke(id: string): Promise<boolean>
}

/** `disabled`: keys are refused and nothing runs. `deleting`: the same, and the data is removed. */
export type UserState = 'active' | 'disabled' | 'deleting'

export type UserRow = { user: string; state: UserState; created_at: string }

export interface UserStore {
  /** In the order of their names. */
  list(): Promise<UserRow[]>
  /** Those that are not active. */
  suspended(): Promise<UserRow[]>
  /** Adds a user if there is none with this name, whatever other users there are. */
  ensure(user: string, settings: string | null): Promise<void>
  /** Returns the state before; null for an unknown user. One that is being deleted stays so. */
  setState(user: string, state: UserState): Promise<UserState | null>
  /** Ids of the deleted conversations of a user. */
  deletedIds(user: string): Promise<string[]>
  /**
   * Deletes the rows of a user without conversations, and the user, unless the user is active. The audit and the ids of deleted
   * conversations stay. A repetition does nothing.
   */
  erase(user: string): Promise<void>
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
