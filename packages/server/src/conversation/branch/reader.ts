/** Reads branches from the log: page by page from the leaf towards the root, never more than the caller needs. */
import {
  isTreeEvent,
  parentOf,
  pendingActions,
  type ConversationId,
  type EventId,
  type StoredTreeEvent,
} from '@parley/protocol'
import type { EventStore } from '../../storage/index.ts'
import type { NavigationTarget } from './navigation-target.ts'

const PAGE = 200

/** Yields the branch from `leaf` towards the root, newest first. Reads one page of the log at a time. */
export async function* ancestors(
  events: EventStore,
  id: ConversationId,
  leaf: EventId,
): AsyncGenerator<StoredTreeEvent> {
  const start = await events.get(id, leaf)
  let wanted: EventId | null = leaf
  let from = start?.seq ?? 0
  while (wanted !== null && from > 0) {
    const page = await events.page(id, { from, order: 'desc', limit: PAGE })
    if (page.length === 0) return
    for (const { seq, event } of page) {
      if (event.id !== wanted || !isTreeEvent(event)) continue
      yield { seq, event }
      wanted = parentOf(event)
      if (wanted === null) return
    }
    from = page.at(-1)!.seq - 1
  }
}

/** Returns the whole branch, root first. */
export async function readBranch(
  events: EventStore,
  id: ConversationId,
  leaf: EventId | null,
): Promise<StoredTreeEvent[]> {
  if (leaf === null) return []
  const path: StoredTreeEvent[] = []
  for await (const node of ancestors(events, id, leaf)) path.push(node)
  return path.reverse()
}

/**
 * Returns the state at a point of the tree that a conversation moves to. Reads back to the newest message of a person:
 * only the batch at the end of a branch can be open. Null for an event that is not a tree event of this conversation.
 * @param blocked messages that a hook has blocked, by id: they need no answer
 */
export async function navigationTarget(
  events: EventStore,
  id: ConversationId,
  to: EventId | null,
  blocked: Readonly<Record<string, string>>,
): Promise<NavigationTarget | null> {
  if (to === null) return { to, open_actions: [], last_user_message_id: null, owes_step: true }
  const path: StoredTreeEvent[] = []
  let last_user_message_id: string | null = null
  for await (const node of ancestors(events, id, to)) {
    path.push(node)
    if (node.event.kind === 'MessageEvent' && node.event.source === 'user') {
      last_user_message_id = node.event.id
      break
    }
  }
  if (path.length === 0) return null
  // The execution of a hook after an answer does not open the answer again.
  const newest = path.find(({ event }) => event.kind !== 'HookExecutionEvent')
  const isDone = newest !== undefined && (concludes(newest) || Object.hasOwn(blocked, newest.event.id))
  return { to, open_actions: pendingActions(path.reverse()), last_user_message_id, owes_step: !isDone }
}

function concludes({ event }: StoredTreeEvent): boolean {
  if (event.kind === 'ObservationEvent') return event.observation.kind === 'FinishObservation'
  return event.kind === 'MessageEvent' && event.source === 'agent'
}
