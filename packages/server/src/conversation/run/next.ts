import type { ConversationExecutionStatus, ConversationState, OpenAction } from '@parley/protocol'
import type { Finding } from './stuck.ts'

export type Limits = { maxIterations: number; maxBudgetUsd: number | null }

/** Why a run ends on its own account, as a ConversationErrorEvent tells it. */
export type StopReason = { code: string; detail: string }

export type Next =
  | { kind: 'think' }
  /** Make the view shorter, because somebody waits for it. */
  | { kind: 'condense' }
  /** Tell the agent that it goes round in circles. */
  | { kind: 'nudge'; text: string }
  /** Ask whether the goal is reached. */
  | { kind: 'judge' }
  | { kind: 'execute'; actions: readonly OpenAction[] }
  | { kind: 'stop'; status: ConversationExecutionStatus; reason: StopReason | null }

/** What the next move depends on besides the fold. */
export type Around = {
  /** Somebody waits for a shorter view. */
  wantsCondensation: boolean
  /** Why those that this conversation works for can pay for no further answer; null: they can. Absent: there are none. */
  purse?: () => StopReason | null
  /** What the newest events show. Asked only when the model would be asked. */
  stuck: () => Finding | null
}

const NOTHING_AROUND: Around = { wantsCondensation: false, stuck: () => null }

/** The next move of a conversation. Pure: each rule of the loop is one row of a table test. Source: agent-core.md 1.3, 1.5. */
export function next(state: ConversationState, limits: Limits, around: Around = NOTHING_AROUND): Next {
  // Before anything else, and in any status: it performs nothing and changes none (F47).
  if (around.wantsCondensation) return { kind: 'condense' }
  // The calls for which a sub-agent asks are under way, and go on waiting for the answer.
  if (state.execution_status === 'waiting_for_confirmation' && state.awaiting_approval?.sub_agent !== undefined)
    return { kind: 'execute', actions: state.open_actions }
  if (state.execution_status !== 'running') return stop(state.execution_status)
  if (state.awaiting_approval !== null) return stop('waiting_for_confirmation')
  if (state.open_actions.length > 0) return { kind: 'execute', actions: state.open_actions }
  if (!state.owes_step) return hasGoal(state) ? { kind: 'judge' } : stop('finished')
  const finding = around.stuck()
  if (finding?.kind === 'nudge') return finding
  // Trying again may well be part of reaching a goal: its judge decides (agent-core.md 3.7).
  if (finding?.kind === 'stuck' && hasGoal(state)) return { kind: 'judge' }
  if (finding?.kind === 'stuck') {
    const wayOut = 'Send a message to help it on, or run it again to let it try further.'
    return stop('stuck', { code: 'AgentStuck', detail: `${finding.detail} (${finding.pattern}) ${wayOut}` })
  }
  const max = state.max_iterations ?? limits.maxIterations
  if (state.iterations >= max) {
    return stop('error', { code: 'MaxIterationsReached', detail: `Agent reached maximum iterations limit (${max}).` })
  }
  if (limits.maxBudgetUsd !== null && costUsd(state) >= limits.maxBudgetUsd) {
    // A budget pauses instead of failing: raise it and run again (design.md 2, point 9).
    const detail = `The budget of ${limits.maxBudgetUsd} US dollars is used up. Raise max_budget_per_task and run again.`
    return stop('paused', { code: 'MaxBudgetReached', detail })
  }
  const overdrawn = around.purse?.() ?? null
  if (overdrawn !== null) return stop('paused', overdrawn)
  return { kind: 'think' }
}

const hasGoal = ({ goal }: ConversationState): boolean => goal?.active === true

/** US dollars spent so far by every model of the conversation. */
export function costUsd(state: ConversationState): number {
  return Object.values(state.stats).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
}

function stop(status: ConversationExecutionStatus, reason: StopReason | null = null): Next {
  return { kind: 'stop', status, reason }
}
