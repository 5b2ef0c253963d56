/** Prunes the log of deliveries, on one node at a time. */
import type { Coordination } from '../coordination/index.ts'
import { aborted } from '../lib/index.ts'
import type { Log } from '../observability/index.ts'
import type { OutboxStore } from '../storage/index.ts'

const HOUR_MS = 3600 * 1000
const DAY_MS = 24 * HOUR_MS
/** Retention of deliveries. Parked ones are kept longer, because an administrator may send them again. */
const KEEP_DELIVERED_MS = 7 * DAY_MS
const KEEP_PARKED_MS = 30 * DAY_MS
const MAX_DELIVERED = 10_000
const MAX_PARKED = 100_000
/** Number of deliveries after which the log is pruned again. */
const PRUNE_EVERY = 1000

export type Pruning = AsyncDisposable & {
  /** Counts a commit that has added deliveries. */
  count(): void
}

export type PruneDeps = {
  outbox: Pick<OutboxStore, 'prune' | 'now'>
  coordination: Pick<Coordination, 'lead'>
  /** Bounds what waits for the targets; called before each pruning. */
  parkSurplus: () => Promise<void>
  log: Pick<Log, 'error'>
}

/** Prunes now, every hour, and after every `PRUNE_EVERY` commits with deliveries of this node. */
export function pruneRegularly({ outbox, coordination, parkSurplus, log }: PruneDeps): Pruning {
  let isLeader = false
  let isClosed = false
  let sinceLast = 0
  let pruning: Promise<void> | null = null

  async function prune(): Promise<void> {
    await parkSurplus()
    if (!isLeader) return
    const now = (await outbox.now()).getTime()
    const before = (ms: number) => new Date(now - ms).toISOString()
    const bounds = {
      deliveredBefore: before(KEEP_DELIVERED_MS),
      parkedBefore: before(KEEP_PARKED_MS),
      maxDelivered: MAX_DELIVERED,
      maxParked: MAX_PARKED,
    }
    while (!isClosed && (await outbox.prune(bounds)) > 0) {
      // Each call prunes one slice in a transaction of its own.
    }
  }
  function start(): void {
    sinceLast = 0
    pruning ??= prune()
      .catch((error: unknown) => log.error({ err: error }, 'old webhook deliveries not pruned'))
      .finally(() => {
        pruning = null
      })
  }
  const leading = coordination.lead('webhook deliveries', async (signal) => {
    isLeader = true
    start()
    await aborted(signal)
    isLeader = false
  })
  const timer = setInterval(start, HOUR_MS).unref()
  return {
    count() {
      sinceLast += 1
      if (sinceLast >= PRUNE_EVERY) start()
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearInterval(timer)
      await leading[Symbol.asyncDispose]()
      await pruning
    },
  }
}
