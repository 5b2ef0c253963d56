/** Composes the delivery of webhooks: the targets of the configuration and of the store, and what knows their secrets. */
import type { Config } from '../config/index.ts'
import type { Coordination, LiveNodes } from '../coordination/index.ts'
import type { Log, ServerMetrics } from '../observability/index.ts'
import { secretValues, type Cipher, type KnownSecrets } from '../secrets/index.ts'
import type { Storage } from '../storage/index.ts'
import { openWebhooks, readTarget, storeConfigured, type Webhooks } from '../webhooks/index.ts'

export type ComposeWebhooksDeps = {
  config: Pick<Config, 'webhooks'>
  storage: Pick<Storage, 'outbox' | 'targets'>
  cipher: Cipher
  coordination: Coordination
  nodes: LiveNodes
  /** Learns the secrets of the stored targets. */
  known: Pick<KnownSecrets, 'add'>
  /** Counts the outcomes of deliveries. */
  onOutcome: ServerMetrics['delivery']
  log: Log
}

export async function composeWebhooks(deps: ComposeWebhooksDeps): Promise<Webhooks> {
  const { config, storage, cipher, coordination, nodes, known, onOutcome, log } = deps
  const { targets, outbox } = storage
  await storeConfigured({ configured: config.webhooks, targets, cipher, isShared: coordination.isShared, log })
  if (config.webhooks.length > 0) coordination.tell('targets')
  return openWebhooks({
    targets,
    outbox,
    open(row) {
      const target = readTarget(row, (text) => cipher.open(text))
      known.add(secretValues(target))
      return target
    },
    coordination,
    nodes,
    onOutcome,
    log,
  })
}
