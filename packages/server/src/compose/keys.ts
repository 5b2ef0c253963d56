/** API keys of a store, for `parley keys`; needs no running server. */
import { join } from 'node:path'
import { DEFAULT_USER, newUserIn, openIdentities } from '../settings/index.ts'
import { openStore, type KeyRow, type Role } from '../storage/index.ts'
import type { Config } from '../config/index.ts'
import { auditCommand } from './command-line.ts'

export type KeyRequest = { user: string; role: Role; label: string | null; expires_at: string | null }

export interface Keys extends AsyncDisposable {
  /** The key itself is returned only here. */
  createKey(request: KeyRequest): Promise<{ key: string; row: KeyRow }>
  listKeys(): Promise<KeyRow[]>
  /** False for an unknown id. */
  revokeKey(id: string): Promise<boolean>
}

/** Opens the keys of the configured store. */
export async function openKeys(
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'sessionApiKeys' | 'mode'>,
): Promise<Keys> {
  const storage = await openStore({ path: join(config.dataDir, 'parley.db'), databaseUrl: config.databaseUrl })
  const newUser = newUserIn(config.mode)
  if (config.sessionApiKeys.length > 0) await storage.users.ensure(DEFAULT_USER, newUser.settings)
  const identities = openIdentities(storage.keys, config.sessionApiKeys, () => new Date(), newUser)
  const audited = (action: string, { id, user, role }: Pick<KeyRow, 'id' | 'user' | 'role'>) =>
    auditCommand(storage.audit, { action, subject: user, detail: `key ${id}, role ${role}` })
  return {
    async createKey({ user, role, label, expires_at }) {
      const expiresAt = expires_at === null ? null : new Date(expires_at)
      const made = await identities.create({ user, role, label, expiresAt })
      await audited('parley keys create', made.row)
      return made
    },
    listKeys: () => identities.list(),
    async revokeKey(id) {
      const row = (await storage.keys.list()).find((key) => key.id === id)
      const isRevoked = await storage.keys.revoke(id)
      if (isRevoked && row !== undefined) await audited('parley keys revoke', row)
      return isRevoked
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}
