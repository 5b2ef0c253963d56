/** Appends to a log. */
import type { ConversationStore } from '../contract/conversations.ts'
import { requireDense } from '../shared/dense.ts'
import type { FeedListeners } from '../shared/feed-listeners.ts'
import type { Appends } from './appends.ts'
import type { Outbox } from './outbox.ts'

export function postgresLog(appends: Appends, outbox: Outbox, feeds: FeedListeners): Pick<ConversationStore, 'append'> {
  return {
    append: async (append) => {
      requireDense(append.expectedSeq, append.events)
      const owner = await appends.append(append)
      outbox.announceCommit(append.id, append.outbox, append.events.length)
      if (owner !== null) feeds.changed(owner)
    },
  }
}
