/** Limits that cancel a prompt: repetition and budget. Source: agent-core.md 11.11, F66, F70. */
import type { ConversationState } from '@parley/protocol'
import type { AcpAgentDeps, PromptState } from './prompt-state.ts'
import type { ToolCall } from '../tool-calls.ts'

/** Cancels the prompt when the call that has ended is a repetition. */
export function watchRepetition(
  current: PromptState,
  call: ToolCall,
  { detectsStuck }: Pick<AcpAgentDeps, 'detectsStuck'>,
): void {
  const detail = detectsStuck() ? current.repetition.take(call) : null
  if (detail === null || current.cancelReason !== null) return
  current.cancelReason = 'stuck'
  current.stuckDetail = detail
  void current.turn.cancel()
}

/** Cancels the prompt when the reported cost has used up the budget. */
export function watchBudget(
  current: PromptState,
  state: ConversationState,
  { budgetUsd }: Pick<AcpAgentDeps, 'budgetUsd'>,
): void {
  const budget = budgetUsd()
  const { sessionCost } = current.turn.usage
  if (budget === null || sessionCost === null) return
  const spent = Object.values(state.stats).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
  if (spent + Math.max(0, sessionCost - current.costBefore) < budget) return
  current.cancelReason ??= 'budget'
  void current.turn.cancel()
}
