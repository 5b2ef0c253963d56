import type { Log } from '../../observability/index.ts'
import type { ConversationId } from '@parley/protocol'
import type { NodeNumber, Storage } from '../../storage/index.ts'
import { FairSlots } from '../../lib/index.ts'
import type { Conversations } from '../conversations.ts'
import type { Roster } from '../live/roster.ts'
import { snapshotOf } from '../record/info.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'
import { watch } from '../watch/watch.ts'
import type { ConversationAccess } from './access.ts'
import type { Releases } from './releases.ts'

const MAX_CONCURRENT_RECOVERIES = 8
/** Orphans that are taken at once. */
const ORPHANS = 100

export type Watching = Pick<Conversations, 'watch'> & {
  /** Settles owed releases, and resumes every conversation that was running when the previous process ended. Resolves when all are loaded. */
  recover(): Promise<void>
  /** Stops all runs without recording an end; a later process continues them. */
  close(): Promise<void>
}

type WatchingDeps = {
  storage: Pick<Storage, 'conversations' | 'events'>
  /** This run of the process. */
  node: NodeNumber
  log: Pick<Log, 'error'>
}

/** The calls of the engine that follow conversations, and those that begin and end its own work. */
export function openWatching(
  access: ConversationAccess,
  { storage: { conversations, events }, node, log }: WatchingDeps,
  roster: Roster,
  shownBatches: ShownBatches,
  releases: Pick<Releases, 'recover' | 'close'>,
): Watching {
  return {
    async watch(id, after, actor, signal, purpose = 'show') {
      const { row, record, state } = await access.read(id, actor)
      const channel = roster.channel(id, row.seq)
      const source = {
        channel,
        page: (from: number, limit: number) => events.page(id, { from, limit }),
        onClose: () => roster.release(id),
      }
      const watcher = watch(source, after === 'now' ? channel.latest : after, snapshotOf(id, record, state), signal)
      return purpose === 'show' ? shownBatches.noting(id, watcher) : watcher
    },

    async recover() {
      const ids: ConversationId[] = []
      for (let taken = ORPHANS; taken === ORPHANS;) {
        const orphans = await conversations.orphans(node, ORPHANS)
        ids.push(...orphans)
        taken = orphans.length
      }
      const slots = new FairSlots({ count: MAX_CONCURRENT_RECOVERIES })
      const never = new AbortController().signal
      await Promise.all([
        releases.recover(),
        ...ids.map(async (id) => {
          try {
            using _slot = await slots.take('', never)
            await roster.load(id)
          } catch {
            // Without a slot: a conversation that cannot be loaded yet must not delay the others.
            await roster.resume(id).catch((error: unknown) => {
              log.error({ conversation_id: id, err: error }, 'running conversation not recovered')
            })
          }
        }),
      ])
    },

    close() {
      releases.close()
      return roster.close()
    },
  }
}
