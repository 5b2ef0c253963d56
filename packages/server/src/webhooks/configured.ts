/** Stores the targets of the configuration of a server that starts. */
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../observability/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { TargetStore } from '../storage/index.ts'
import { readTarget, storedTarget } from './stored-target.ts'
import type { WebhookTarget } from './target.ts'

export type ConfiguredDeps = {
  configured: readonly WebhookTarget[]
  targets: TargetStore
  cipher: Pick<Cipher, 'seal' | 'open'>
  /** True when other nodes may share the store. */
  isShared: boolean
  log: Pick<Log, 'warn'>
}

/**
 * The configuration of the only server of a store replaces that of the start before. Where nodes share a store, a configuration adds targets
 * that are not known yet and changes nothing else, because it may be older than that of another node.
 */
export async function storeConfigured({ configured, targets, cipher, isShared, log }: ConfiguredDeps): Promise<void> {
  const row = (target: WebhookTarget) => storedTarget(target, 'configuration', cipher.seal)
  if (!isShared) return targets.configure(configured.map(row))
  for (const target of configured) {
    if (await targets.add(row(target))) continue
    const known = (await targets.list()).find(({ name }) => name === target.base_url)
    const remedy = 'parley webhooks add stores it as it is configured'
    if (known === undefined)
      log.warn({ target: target.base_url, remedy }, 'configured webhook target not used, because it was removed')
    else if (!isDeepStrictEqual(readTarget(known, cipher.open), target))
      log.warn(
        { target: target.base_url, remedy },
        'configured webhook target not used, because the stored one differs',
      )
  }
}
