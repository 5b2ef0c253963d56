/** Functions of the event tree: the active branch, common ancestors, and open actions. */
import type { ActionEvent } from './events/action.ts'
import type { OpenAction } from './events/control.ts'
import type { StoredEvent, TreeEvent } from './event.ts'
import { isTreeEvent } from './event.ts'
import { ROOT } from './events/base.ts'
import type { EventId } from './ids.ts'

/** A tree event with its place in the log. */
export type StoredTreeEvent = StoredEvent & { event: TreeEvent }

/** Returns the parent of a tree event; null for a root. Source: agent-core.md 2.3. */
export function parentOf(event: TreeEvent): EventId | null {
  const parent = event.parent_id
  return parent === null || parent === undefined || parent === ROOT ? null : parent
}

/**
 * Returns the chain from the root to `leaf`, root first. `node` looks up a tree event by id; a missing one ends the
 * chain there.
 */
export function branch(leaf: EventId | null, node: (id: EventId) => StoredTreeEvent | undefined): StoredTreeEvent[] {
  const path: StoredTreeEvent[] = []
  for (let id = leaf; id !== null;) {
    const found = node(id)
    if (found === undefined) break
    path.push(found)
    id = parentOf(found.event)
  }
  return path.reverse()
}

/**
 * Returns the actions of a branch (root first) without a later result on it, oldest first. Source: agent-core.md 2.6;
 * F46.
 */
export function pendingActions(path: readonly StoredTreeEvent[]): OpenAction[] {
  const open: OpenAction[] = []
  for (const { seq, event } of path) {
    switch (event.kind) {
      case 'ActionEvent': {
        if (event.action === null) break
        open.push(openAction(seq, event))
        break
      }
      case 'ObservationEvent':
      case 'UserRejectObservation':
        drop(open, ({ id }) => id === event.action_id)
        break
      case 'AgentErrorEvent':
        drop(open, ({ tool_call_id }) => tool_call_id === event.tool_call_id)
        break
      default:
    }
  }
  return open
}

/** Returns a stored action as an open one. */
export function openAction(seq: number, event: ActionEvent): OpenAction {
  const { id, tool_call_id, tool_name, llm_response_id, security_risk: risk } = event
  return { id, tool_call_id, tool_name, llm_response_id, seq, risk }
}

function drop(open: OpenAction[], isMeant: (action: OpenAction) => boolean): void {
  const index = open.findIndex(isMeant)
  if (index !== -1) open.splice(index, 1)
}

/**
 * The active branch, updated event by event: appends extend it, a moved leaf rebuilds it.
 * Always equals `branch()` of the same leaf.
 */
export class ActiveBranch {
  readonly #nodes = new Map<EventId, StoredTreeEvent>()
  #path: StoredTreeEvent[] = []

  /** Adds one stored event; control events other than a moved leaf change nothing. */
  append(stored: StoredEvent): void {
    const { seq, event } = stored
    if (isTreeEvent(event)) {
      const node = { seq, event }
      this.#nodes.set(event.id, node)
      if (parentOf(event) === (this.#path.at(-1)?.event.id ?? null)) this.#path.push(node)
      else this.#path = branch(event.id, (id) => this.#nodes.get(id))
    } else if (event.kind === 'LeafMovedEvent') {
      this.#path = branch(event.to, (id) => this.#nodes.get(id))
    }
  }

  /** Returns the branch, root first. */
  path(): readonly StoredTreeEvent[] {
    return this.#path
  }
}
