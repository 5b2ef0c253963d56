/** API keys of a data directory, for `parley keys`; needs no running server. */
import { join } from 'node:path'
import { openIdentities } from '../settings/index.ts'
import { openSqlite, type KeyRow, type Role } from '../storage/index.ts'
import type { Config } from '../config/index.ts'

export type KeyRequest = { user: string; role: Role; label: string | null; expires_at: string | null }

export interface Keys extends AsyncDisposable {
  /** The key itself is returned only here. */
  createKey(request: KeyRequest): Promise<{ key: string; row: KeyRow }>
  listKeys(): Promise<KeyRow[]>
  /** False for an unknown id. */
  revokeKey(id: string): Promise<boolean>
}

/** Opens the keys of the configured data directory. */
export async function openKeys(config: Pick<Config, 'dataDir' | 'sessionApiKeys'>): Promise<Keys> {
  const storage = await openSqlite({ path: join(config.dataDir, 'parley.db') })
  const identities = openIdentities(storage.keys, config.sessionApiKeys, () => new Date())
  return {
    createKey: ({ user, role, label, expires_at }) =>
      identities.create({ user, role, label, expiresAt: expires_at === null ? null : new Date(expires_at) }),
    listKeys: () => identities.list(),
    revokeKey: (id) => storage.keys.revoke(id),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
