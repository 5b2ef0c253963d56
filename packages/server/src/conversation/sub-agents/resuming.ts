/** What a restart goes on with below a conversation that rests. Source: agent-core.md 12.1 (b). */
import type { EventStore } from '../../storage/index.ts'
import { pausing } from '../drafts.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import { isActive } from './attention.ts'
import { childId, workId } from './ids.ts'

/** Pauses a sub-agent that works for an open call of a parent that does not go on; whoever works for nobody goes on. */
export async function pauseAsParent(
  events: Pick<EventStore, 'get'>,
  parent: LiveConversation,
  child: LiveConversation,
): Promise<void> {
  if (isActive(parent.state()) || !(await isAwaited(events, parent, child))) return
  await child.commit(({ execution_status: status }) =>
    status === 'running' && !isActive(parent.state()) ? pausing() : [],
  )
}

/** Whether an open call of the parent began the work of this sub-agent, or gave it to it. */
async function isAwaited(
  events: Pick<EventStore, 'get'>,
  parent: LiveConversation,
  child: LiveConversation,
): Promise<boolean> {
  const calls = parent.state().open_actions
  if (calls.some(({ id }) => childId(parent.id, id) === child.id)) return true
  const given = await Promise.all(calls.map(({ id }) => events.get(child.id, workId(child.id, id))))
  return given.some((message) => message !== null)
}
