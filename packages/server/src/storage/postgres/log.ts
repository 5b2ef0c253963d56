/** Appends to a log. */
import type { ConversationStore } from '../contract/conversations.ts'
import { requireDense } from '../shared/dense.ts'
import type { Appends } from './appends.ts'
import type { Outbox } from './outbox.ts'

export function postgresLog(appends: Appends, outbox: Outbox): Pick<ConversationStore, 'append'> {
  return {
    append: async (append) => {
      requireDense(append.expectedSeq, append.events)
      await appends.append(append)
      outbox.announceCommit(append.id, append.outbox, append.events.length)
    },
  }
}
