/** Reasons to have a prompt end before the agent ends it. Source: agent-core.md 11.11 (5), F66, F70. */
import type { ConversationState } from '@parley/protocol'
import type { AcpAgentDeps, Current } from './current.ts'
import type { ToolCall } from './tool-calls.ts'

/** A call has ended: stops an agent that goes round in circles. */
export function watchCircles(
  current: Current,
  call: ToolCall,
  { detectsStuck }: Pick<AcpAgentDeps, 'detectsStuck'>,
): void {
  const found = detectsStuck() ? current.circles.take(call) : null
  if (found === null || current.because !== null) return
  current.because = 'stuck'
  current.stuck = found
  void current.turn.cancel()
}

/** The agent has said what it costs: stops one that has used the budget up. */
export function watchBudget(
  current: Current,
  state: ConversationState,
  { budgetUsd }: Pick<AcpAgentDeps, 'budgetUsd'>,
): void {
  const budget = budgetUsd()
  const { sessionCost } = current.turn.spent
  if (budget === null || sessionCost === null) return
  const spent = Object.values(state.stats).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
  if (spent + Math.max(0, sessionCost - current.costBefore) < budget) return
  current.because ??= 'budget'
  void current.turn.cancel()
}
