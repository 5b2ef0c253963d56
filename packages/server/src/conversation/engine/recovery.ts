/**
 * Continues the conversations that should run and have no live owner: at the start, and whenever another node may have left some.
 *
 * Invariants
 *   R1. A node that shares its store claims no more conversations than it has free run slots; the store gives it its share of those that
 *       a node has left, so that they are spread over the others.
 *   R2. A conversation that cannot be loaded yet delays no other.
 */
import type { ConversationId } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import { FairSlots } from '../../lib/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Roster } from '../live/roster.ts'

/** Conversations that a node claims at once, and those that it loads at the same time. */
const CLAIMED_AT_ONCE = 100
const LOADED_AT_ONCE = 8

export type RecoveryDeps = {
  coordination: Pick<Coordination, 'isShared' | 'claimOrphans' | 'onOrphans' | 'onReturn'>
  roster: Pick<Roster, 'load' | 'resume' | 'verify'>
  /** Runs that this node could begin now. */
  freeRuns: () => number
  /** Called when the store is back after it could not be reached. */
  onReturn: () => void
  log: Pick<Log, 'error' | 'warn'>
}

export type Recovery = {
  /** Resolves when the conversations that were found first are loaded; later ones follow until `close`. */
  recover(): Promise<void>
  close(): void
}

export function openRecovery({ coordination, roster, freeRuns, onReturn, log }: RecoveryDeps): Recovery {
  const never = new AbortController().signal
  const ends = new DisposableStack()
  const load = async (ids: readonly ConversationId[]): Promise<void> => {
    const slots = new FairSlots({ count: LOADED_AT_ONCE })
    const loading = ids.map(async (id) => {
      try {
        using _slot = await slots.take('', never)
        await roster.load(id)
      } catch {
        // Without a slot (R2).
        const resumed = roster.resume(id).catch((err: unknown) => {
          log.error({ conversation_id: id, err }, 'running conversation not recovered')
        })
        if (!coordination.isShared) await resumed
      }
    })
    await Promise.all(loading)
  }
  const claimAll = async (): Promise<void> => {
    while (!ends.disposed) {
      // Also without a slot: what this node has claimed for a request, with its root, is among the answers.
      const most = coordination.isShared ? freeRuns() : CLAIMED_AT_ONCE
      const limit = Math.max(0, Math.min(CLAIMED_AT_ONCE, most))
      const ids = await coordination.claimOrphans(limit)
      await load(ids)
      if (limit === 0 || ids.length === 0) return
    }
  }
  let sweep: Promise<void> | null = null
  let isAsked = false
  /** One at a time; what is asked for meanwhile is done by another round. */
  const look = (): Promise<void> => {
    isAsked = true
    const rounds = async () => {
      while (isAsked) {
        isAsked = false
        await claimAll()
      }
    }
    return (sweep ??= rounds().finally(() => {
      sweep = null
    }))
  }
  const inBackground = (what: string, work: () => Promise<void>) => {
    work().catch((err: unknown) => log.warn({ err }, what))
  }
  return {
    async recover() {
      ends.use(coordination.onOrphans(() => inBackground('orphans not claimed', look)))
      ends.use(
        coordination.onReturn(async () => {
          onReturn()
          await roster.verify()
        }),
      )
      await look()
    },
    close: () => ends.dispose(),
  }
}
