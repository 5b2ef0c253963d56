import type { ConversationExecutionStatus, ConversationState, OpenAction } from '@parley/protocol'
import type { Repetition } from './stuck.ts'

export type Limits = { maxIterations: number; maxBudgetUsd: number | null }

/** The reason for which a run ends by itself, for a ConversationErrorEvent. */
export type StopReason = { code: string; detail: string }

export type Next =
  | { kind: 'think' }
  /** Shorten the view, because a condensation was requested. */
  | { kind: 'condense' }
  /** Point out to the agent that it repeats itself. */
  | { kind: 'nudge'; text: string }
  /** Ask the judge whether the goal is reached. */
  | { kind: 'judge' }
  | { kind: 'execute'; actions: readonly OpenAction[] }
  | { kind: 'stop'; status: ConversationExecutionStatus; reason: StopReason | null }

/** Inputs of the next move besides the state. */
export type Around = {
  /** True when a condensation is requested. */
  wantsCondensation: boolean
  /** Why the parent chain can pay for no further answer; null when it can. Absent for a top-level conversation. */
  remainingBudget?: () => StopReason | null
  /** The limit of the user that is used up; null: none is. */
  usedUp?: () => StopReason | null
  /** Repetition in the newest events. Called only when the model would be asked. */
  stuck: () => Repetition | null
}

const NOTHING_AROUND: Around = { wantsCondensation: false, stuck: () => null }

/** The next move of a conversation. Pure: each rule of the loop is one row of a table test. Source: agent-core.md 1.3, 1.5. */
export function next(state: ConversationState, limits: Limits, around: Around = NOTHING_AROUND): Next {
  // First, and in any status: a condensation executes no tool and changes no status (F47).
  if (around.wantsCondensation) return { kind: 'condense' }
  // The calls for which a sub-agent asks are in execution, and continue to wait for the answer.
  if (state.execution_status === 'waiting_for_confirmation' && state.awaiting_approval?.sub_agent !== undefined)
    return { kind: 'execute', actions: state.open_actions }
  if (state.execution_status !== 'running') return stop(state.execution_status)
  if (state.awaiting_approval !== null) return stop('waiting_for_confirmation')
  if (state.open_actions.length > 0) return { kind: 'execute', actions: state.open_actions }
  if (!state.owes_step) return hasGoal(state) ? (withoutMoney(around) ?? { kind: 'judge' }) : stop('finished')
  const repetition = around.stuck()
  if (repetition?.kind === 'nudge') return repetition
  // Repetition may be a part of reaching a goal: its judge decides (agent-core.md 3.7).
  if (repetition?.kind === 'stuck' && hasGoal(state)) return withoutMoney(around) ?? { kind: 'judge' }
  if (repetition?.kind === 'stuck') {
    const remedy = 'Send a message to help it on, or run it again to let it try further.'
    return stop('stuck', { code: 'AgentStuck', detail: `${repetition.detail} (${repetition.pattern}) ${remedy}` })
  }
  const max = state.max_iterations ?? limits.maxIterations
  if (state.iterations >= max) {
    return stop('error', { code: 'MaxIterationsReached', detail: `Agent reached maximum iterations limit (${max}).` })
  }
  if (limits.maxBudgetUsd !== null && costUsd(state) >= limits.maxBudgetUsd) {
    // A budget pauses instead of failing: raise it and run again (decisions.md, Budgets).
    const detail = `The budget of ${limits.maxBudgetUsd} US dollars is used up. Raise max_budget_per_task and run again.`
    return stop('paused', { code: 'MaxBudgetReached', detail })
  }
  return withoutMoney(around) ?? { kind: 'think' }
}

/** The end of a run whose next answer cannot be paid for; null when it can. */
function withoutMoney({ remainingBudget, usedUp }: Around): Next | null {
  const reason = remainingBudget?.() ?? usedUp?.() ?? null
  return reason === null ? null : stop('paused', reason)
}

const hasGoal = ({ goal }: ConversationState): boolean => goal?.active === true

/** US dollars spent so far by every model of the conversation. */
export function costUsd(state: ConversationState): number {
  return Object.values(state.stats).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
}

function stop(status: ConversationExecutionStatus, reason: StopReason | null = null): Next {
  return { kind: 'stop', status, reason }
}
