/** Users of keys. Source: decisions.md, Identity. */
import { randomUUID } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import { hashKey, makeKey, sameKey } from '../secrets/index.ts'
import type { KeyRow, KeyStore, NewUser, Role } from '../storage/index.ts'

/** The user of keys from the environment and of the key that the first start creates. */
export const DEFAULT_USER = 'default'

/** A user and the permissions of the key. */
export type Identity = { user: string; role: Role; keyId: string }

export type NewKey = { user: string; role: Role; label: string | null; expiresAt: Date | null }

export interface Identities {
  /** Null for a key that is unknown, revoked or expired. Takes the same time for every wrong key. */
  authenticate(key: string): Promise<Identity | null>
  /** Like `authenticate`, for the hash of a key. */
  byHash(hash: string): Promise<Identity | null>
  /** The stored key with a hash, also a revoked or expired one; null for keys of the environment. */
  rowOf(hash: string): Promise<KeyRow | null>
  /** Only this answer contains the key itself. @throws ParleyError `forbidden` for a second user of a server for one. */
  create(key: NewKey): Promise<{ key: string; row: KeyRow }>
  list(): Promise<KeyRow[]>
  /** @throws ParleyError `not_found`. */
  revoke(id: string): Promise<void>
  /**
   * Issues a successor with the same user, role, label and lifetime. The old key stays valid until it is revoked.
   * @throws ParleyError `not_found`; `conflict` for a revoked key.
   */
  rotate(id: string): Promise<{ key: string; row: KeyRow }>
}

/**
 * Keys of the store and keys of the environment; the latter belong to the user `default`, an administrator.
 * @param newUser how a user comes into being with its first key
 */
export function openIdentities(
  store: KeyStore,
  environmentKeys: readonly string[],
  now: () => Date,
  newUser: NewUser,
): Identities {
  async function ofStore(hash: string): Promise<Identity | null> {
    const row = await store.find(hash)
    if (row === null || row.revoked_at !== null) return null
    if (row.expires_at !== null && Date.parse(row.expires_at) <= now().getTime()) return null
    return { user: row.user, role: row.role, keyId: row.id }
  }

  async function create({ user, role, label, expiresAt }: NewKey): Promise<{ key: string; row: KeyRow }> {
    const { key, hash } = makeKey()
    const expires_at = expiresAt?.toISOString() ?? null
    const row = await store.create({ id: randomUUID(), user, role, label, expires_at, hash }, newUser)
    return { key, row }
  }

  const unknown = (id: string) =>
    new ParleyError('not_found', `No key has the id ${id}. List them with: parley keys list`)

  return {
    async authenticate(key) {
      let found: Identity | null = null
      environmentKeys.forEach((known, index) => {
        if (sameKey(key, known)) found = { user: DEFAULT_USER, role: 'admin', keyId: `environment-${index}` }
      })
      return found ?? ofStore(hashKey(key))
    },

    async byHash(hash) {
      const index = environmentKeys.findIndex((known) => sameKey(hash, hashKey(known)))
      if (index !== -1) return { user: DEFAULT_USER, role: 'admin', keyId: `environment-${index}` }
      return ofStore(hash)
    },

    rowOf: (hash) => store.find(hash),

    create,

    list: () => store.list(),

    async revoke(id) {
      if (!(await store.revoke(id))) throw unknown(id)
    },

    async rotate(id) {
      const old = (await store.list()).find((row) => row.id === id)
      if (old === undefined) throw unknown(id)
      if (old.revoked_at !== null) throw new ParleyError('conflict', `Key ${id} is revoked. Create a new one.`)
      const { user, role, label, created_at, expires_at } = old
      const lifeMs = expires_at === null ? null : Date.parse(expires_at) - Date.parse(created_at)
      return create({ user, role, label, expiresAt: lifeMs === null ? null : new Date(now().getTime() + lifeMs) })
    },
  }
}
