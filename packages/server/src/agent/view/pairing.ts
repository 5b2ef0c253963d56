/** Matches calls and their results by position, because ids of calls may repeat from one turn to the next (F46). */
import type {
  ActionEvent,
  AgentErrorEvent,
  EventId,
  ObservationEvent,
  TreeEvent,
  UserRejectObservation,
} from '@parley/protocol'

/** An event that is the result of a call. */
export type CallResult = ObservationEvent | UserRejectObservation | AgentErrorEvent

export function isCallResult(event: TreeEvent): event is CallResult {
  return event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation' || event.kind === 'AgentErrorEvent'
}

/** Returns whether the model sees events of this kind. */
export function isConvertible(event: TreeEvent): boolean {
  switch (event.kind) {
    case 'SystemPromptEvent':
    case 'MessageEvent':
    case 'ActionEvent':
    case 'CondensationSummaryEvent':
      return true
    default:
      return isCallResult(event)
  }
}

/** The calls without a result, oldest first. */
export class OpenCalls {
  #open: ActionEvent[] = []

  /** Takes the next event. Returns false for a result that no open call waits for. */
  take(event: TreeEvent): boolean {
    if (event.kind === 'ActionEvent') this.#open.push(event)
    if (!isCallResult(event)) return true
    const index = this.#open.findIndex((action) => belongsTo(event, action))
    if (index === -1) return false
    this.#open.splice(index, 1)
    return true
  }

  /** Drops open calls that a condensation removed. */
  forget(ids: ReadonlySet<EventId>): void {
    this.#open = this.#open.filter(({ id }) => !ids.has(id))
  }

  all(): readonly ActionEvent[] {
    return this.#open
  }
}

/** Observations and rejections name their action. Errors name only the call id and belong to the oldest open call with it. */
function belongsTo(result: CallResult, action: ActionEvent): boolean {
  return result.kind === 'AgentErrorEvent'
    ? result.tool_call_id === action.tool_call_id
    : result.action_id === action.id
}
