/** The state of a conversation as the page knows it: snapshots replace it, state updates patch it. Pure. */
import { isMembers, listOf, type LogEvent, membersOf, type Members, numberOf, textOf } from './read.ts'

/** Members of the state, with `confirmation_request` and `approval` of the newest batch. */
export type State = Members

/** A decision of a person about a batch. */
export type Decision = {
  batchId: string
  isAccepted: boolean
  actor: string
  reason: string | null
  /** Milliseconds since 1970; null when unknown. */
  at: string
}

/** Keys that a snapshot lacks and that remain valid after one. */
const FROM_LOG = ['confirmation_request', 'approval', 'start_phases'] as const

/** The state after a snapshot. */
export function withSnapshot(state: State, snapshot: unknown): State {
  const kept: Record<string, unknown> = {}
  for (const key of FROM_LOG) if (key in state) kept[key] = state[key]
  return { ...kept, ...membersOf(snapshot) }
}

/** The state after an event; the same object when the event does not change it. */
export function withEvent(state: State, event: LogEvent): State {
  if (event.kind !== 'ConversationStateUpdateEvent') return state
  const key = textOf(event['key'])
  const { value } = event
  if (key === 'full_state') return withSnapshot(state, value)
  if (key === '' || key === 'unknown_event' || key === 'model_retry' || key === 'start_phase') return state
  if (key === 'confirmation_request') return { ...state, [key]: { asked_at: event.timestamp, ...membersOf(value) } }
  if (key === 'approval') return { ...state, [key]: { at: event.timestamp, ...membersOf(value) } }
  if (key === 'stats') return { ...state, stats: { ...membersOf(state['stats']), ...membersOf(value) } }
  return { ...state, [key]: value }
}

/** The execution status; `idle` when unknown. */
export const statusOf = (state: State): string => textOf(state['execution_status']) || 'idle'

/** The batch that waits for a decision; null when none waits. */
export function waitingBatch(state: State): Members | null {
  const request = state['confirmation_request']
  if (!isMembers(request) || statusOf(state) !== 'waiting_for_confirmation') return null
  return decisionOf(state)?.batchId === textOf(request['batch_id']) ? null : request
}

/** The newest decision; null when there is none. */
export function decisionOf(state: State): Decision | null {
  const approval = state['approval']
  if (!isMembers(approval)) return null
  return {
    batchId: textOf(approval['batch_id']),
    isAccepted: approval['decision'] === 'accept',
    actor: textOf(approval['actor']),
    reason: textOf(approval['reason']) || null,
    at: textOf(approval['at']),
  }
}

/** Costs and tokens of all models of the conversation. `cost`: US dollars; null when no model was called. */
export type Usage = { cost: number | null; input: number; output: number; context: number; window: number }

/** The totals in the state. `context`: tokens of the last request of the agent's model, of its `window`. */
export function usageOf(state: State): Usage {
  const byId = membersOf(membersOf(state['stats'])['usage_to_metrics'])
  const all = Object.values(byId).map(membersOf)
  const tokens = all.map((metrics) => membersOf(metrics['accumulated_token_usage']))
  const sum = (list: readonly Members[], member: string) =>
    list.reduce((total, each) => total + (numberOf(each[member]) ?? 0), 0)
  const agent = membersOf(membersOf(byId['agent'] ?? byId['default'])['accumulated_token_usage'])
  return {
    cost: all.length === 0 ? null : sum(all, 'accumulated_cost'),
    input: sum(tokens, 'prompt_tokens'),
    output: sum(tokens, 'completion_tokens'),
    context: numberOf(agent['per_turn_token']) ?? 0,
    window: numberOf(agent['context_window']) ?? 0,
  }
}

/** Name of the model, or of the external agent; empty when unknown. */
export function modelOf(state: State): string {
  const agent = membersOf(state['agent'])
  const command = listOf(agent['acp_command']).map(textOf).filter(Boolean)
  return (
    textOf(state['current_model_id']) ||
    textOf(membersOf(agent['llm'])['model']) ||
    textOf(agent['acp_model']) ||
    (command[0]?.split('/').at(-1) ?? '')
  )
}

/** The confirmation policy: its kind, and for ConfirmRisky the lowest risk that needs approval. */
export function policyOf(state: State): { kind: string; threshold: string } {
  const policy = membersOf(state['confirmation_policy'])
  return { kind: textOf(policy['kind']) || 'NeverConfirm', threshold: textOf(policy['threshold']) }
}

/** The directory of the conversation; empty when unknown. */
export const directoryOf = (state: State): string => textOf(membersOf(state['workspace'])['working_dir'])

/** True for an action of the batch that waits. */
export const isAsked = (state: State, actionId: string): boolean =>
  listOf(waitingBatch(state)?.['actions']).some((action) => membersOf(action)['action_id'] === actionId)
