/** Calls and their answers, matched by position: ids of calls may repeat from one turn to the next (F46). */
import type {
  ActionEvent,
  AgentErrorEvent,
  EventId,
  ObservationEvent,
  TreeEvent,
  UserRejectObservation,
} from '@parley/protocol'

/** An event that answers a call. */
export type Answer = ObservationEvent | UserRejectObservation | AgentErrorEvent

export function isAnswer(event: TreeEvent): event is Answer {
  return event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation' || event.kind === 'AgentErrorEvent'
}

/** Whether the model is shown events of this kind. */
export function isConvertible(event: TreeEvent): boolean {
  switch (event.kind) {
    case 'SystemPromptEvent':
    case 'MessageEvent':
    case 'ActionEvent':
    case 'CondensationSummaryEvent':
      return true
    default:
      return isAnswer(event)
  }
}

/** The calls that wait for an answer, oldest first. */
export class OpenCalls {
  #open: ActionEvent[] = []

  /** Takes one event after the other. False for an answer that no open call waits for. */
  take(event: TreeEvent): boolean {
    if (event.kind === 'ActionEvent') this.#open.push(event)
    if (!isAnswer(event)) return true
    const index = this.#open.findIndex((action) => answers(event, action))
    if (index === -1) return false
    this.#open.splice(index, 1)
    return true
  }

  /** Open calls that a condensation has removed wait for nothing any more. */
  forget(ids: ReadonlySet<EventId>): void {
    this.#open = this.#open.filter(({ id }) => !ids.has(id))
  }

  all(): readonly ActionEvent[] {
    return this.#open
  }
}

/** Results name their action; errors name only the call, and mean the oldest open one. */
function answers(answer: Answer, action: ActionEvent): boolean {
  return answer.kind === 'AgentErrorEvent'
    ? answer.tool_call_id === action.tool_call_id
    : answer.action_id === action.id
}
