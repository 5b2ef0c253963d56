/** Recovery of sub-agents below a conversation at rest. Source: agent-core.md 12.1. */
import type { EventStore } from '../../storage/index.ts'
import { pausing } from '../drafts.ts'
import type { Resumable } from '../run/parent-link.ts'
import { isActive } from './next-action.ts'
import { childId, workId } from './ids.ts'

/** Pauses a sub-agent that works for an open call of a parent at rest. A sub-agent without a waiting call continues. */
export async function pauseAsParent(
  events: Pick<EventStore, 'get'>,
  parent: Resumable,
  child: Resumable,
): Promise<void> {
  if (isActive(parent.state()) || !(await isAwaited(events, parent, child))) return
  await child.commit(({ execution_status: status }) =>
    status === 'running' && !isActive(parent.state()) ? pausing() : [],
  )
}

/** True when an open call of the parent created this sub-agent, or assigned its work. */
async function isAwaited(events: Pick<EventStore, 'get'>, parent: Resumable, child: Resumable): Promise<boolean> {
  const calls = parent.state().open_actions
  if (calls.some(({ id }) => childId(parent.id, id) === child.id)) return true
  const given = await Promise.all(calls.map(({ id }) => events.get(child.id, workId(child.id, id))))
  return given.some((message) => message !== null)
}
