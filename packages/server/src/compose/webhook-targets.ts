/** Webhook targets of a store, for `parley webhooks`; needs no running server. */
import { join } from 'node:path'
import type { Config } from '../config/index.ts'
import { openStoreCipher } from '../secrets/index.ts'
import { newUserIn, openIdentities } from '../settings/index.ts'
import { openStore, type Storage, type StoredTarget } from '../storage/index.ts'
import { storedTarget } from '../webhooks/index.ts'
import { auditCommand } from './command-line.ts'
import { expectNoOwnKeys } from './own-keys.ts'

/** Without secrets. */
export type ShownTarget = Pick<StoredTarget, 'events' | 'origin' | 'updated_at'> & { base_url: string }

export interface WebhookTargets extends AsyncDisposable {
  /** In the order of their addresses. */
  list(): Promise<ShownTarget[]>
  /**
   * Stores the targets of the configuration, in place of stored ones of the same address; returns their addresses. A running server follows
   * within two seconds.
   * @throws ConfigError for a target that would be sent a key of this server; ParleyError `unavailable` for another sealing key
   */
  addConfigured(): Promise<string[]>
  /** False for an unknown address. Waiting deliveries to it are parked. */
  remove(baseUrl: string): Promise<boolean>
}

type TargetsConfig = Pick<
  Config,
  'dataDir' | 'databaseUrl' | 'secretKey' | 'webhooks' | 'automation' | 'sessionApiKeys' | 'mode'
>

/** Opens the targets of the configured store. */
export async function openWebhookTargets(config: TargetsConfig): Promise<WebhookTargets> {
  const { dataDir, databaseUrl } = config
  const storage = await openStore({ path: join(dataDir, 'parley.db'), databaseUrl })
  const { targets, audit } = storage
  return {
    async list() {
      const rows = await targets.list()
      return rows.map(({ name: base_url, events, origin, updated_at }) => ({ base_url, events, origin, updated_at }))
    },
    addConfigured: () => addConfigured(config, storage),
    async remove(baseUrl) {
      const isRemoved = await targets.remove(baseUrl)
      if (isRemoved) await auditCommand(audit, { action: 'parley webhooks remove', subject: '', detail: baseUrl })
      return isRemoved
    },
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

async function addConfigured(config: TargetsConfig, storage: Storage): Promise<string[]> {
  const { dataDir, secretKey, sessionApiKeys, mode, webhooks } = config
  const identities = openIdentities(storage.keys, sessionApiKeys, () => new Date(), newUserIn(mode))
  await expectNoOwnKeys(config, identities)
  const keyText = secretKey === null ? {} : { keyText: secretKey }
  const cipher = await openStoreCipher(storage.sealTest, {
    ...keyText,
    keyFile: join(dataDir, 'secret-key'),
    replaces: false,
  })
  for (const target of webhooks) {
    await storage.targets.put(storedTarget(target, 'command', (text) => cipher.seal(text)))
    await auditCommand(storage.audit, { action: 'parley webhooks add', subject: '', detail: target.base_url })
  }
  return webhooks.map(({ base_url }) => base_url)
}
