import type { ConversationId } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { Conversations } from '../conversations.ts'
import { moved } from '../live/owned-elsewhere.ts'
import type { Roster } from '../live/roster.ts'
import { snapshotOf } from '../record/info.ts'
import type { ShownBatches } from '../watch/shown-batches.ts'
import { watch } from '../watch/watch.ts'
import type { ConversationAccess } from './access.ts'
import { Feeds } from './feed.ts'
import type { Recovery } from './recovery.ts'
import type { Releases } from './releases.ts'

export type Watching = Pick<Conversations, 'watch' | 'feed'> & {
  /**
   * Settles owed releases, and resumes conversations that should run and have no live owner, from now on until `close`. Resolves when
   * those that are found first are loaded.
   */
  recover(): Promise<void>
  /**
   * Gives the conversations that can move to other nodes: each when its runs are between two steps, at the latest when `late` aborts.
   * Resumes nothing more.
   */
  drain(late: AbortSignal): Promise<void>
  /** Stops all runs without recording an end; a later process continues them. */
  close(): Promise<void>
}

type WatchingDeps = {
  storage: Pick<Storage, 'conversations' | 'events' | 'feed'>
  roster: Roster
  shownBatches: ShownBatches
  recovery: Recovery
  coordination: Pick<Coordination, 'drain' | 'isShared' | 'node' | 'on' | 'release' | 'tell'>
  releases: Pick<Releases, 'recover' | 'close'>
}

/** The calls of the engine that follow conversations, and those that begin and end its own work. */
export function openWatching(
  access: ConversationAccess,
  { storage, roster, shownBatches, recovery, coordination, releases }: WatchingDeps,
): Watching {
  // A node that loses a conversation ends its watchers then. One that comes later, while the conversation is still in memory, would wait for ever.
  const expectOwned = async (id: ConversationId) => {
    if (!coordination.isShared) return
    const row = await storage.conversations.get(id)
    if (row !== null && row.node !== coordination.node) throw moved(id)
  }
  const feeds = new Feeds(access, storage, coordination)
  return {
    async watch(id, after, actor, signal, purpose = 'show') {
      const { row, record, state } = await access.read(id, actor)
      const channel = roster.channel(id, row.seq)
      const source = {
        channel,
        page: (from: number, limit: number) => storage.events.page(id, { from, limit }),
        onClose: () => roster.release(id),
      }
      const watcher = watch(source, after === 'now' ? channel.latest : after, snapshotOf(id, record, state), signal)
      try {
        await expectOwned(id)
      } catch (error) {
        await watcher[Symbol.asyncDispose]()
        throw error
      }
      return purpose === 'show' ? shownBatches.noting(id, watcher) : watcher
    },

    feed: (actor, after, signal) => feeds.open(actor, after, signal),

    async recover() {
      await Promise.all([releases.recover(), recovery.recover()])
    },

    async drain(late) {
      recovery.close()
      await coordination.drain()
      await roster.drain((keeping) => coordination.release(keeping), late)
    },

    close() {
      recovery.close()
      releases.close()
      feeds[Symbol.dispose]()
      return roster.close()
    },
  }
}
