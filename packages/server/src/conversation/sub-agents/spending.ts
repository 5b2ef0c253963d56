/** Costs of sub-agents in the books of their parents. Pure. Source: agent-core.md 10.8, 1.15; P48, F66. */
import { TokenUsage, type ConversationState, type Draft, type MetricsSnapshot } from '@parley/protocol'
import { costUsd, type StopReason } from '../run/next.ts'
import type { ConversationRecord, SubAgentOrigin } from '../record/record.ts'

const COUNTS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const

/** Usage id of a sub-agent in its parent's stats. */
export const bucketOf = ({ tool, name }: Pick<SubAgentOrigin, 'tool' | 'name'>): string => `${tool}:${name}`

/** Sums up the spending of a conversation, its own sub-agents included. */
export function combined(stats: ConversationState['stats']): MetricsSnapshot {
  const parts = Object.values(stats)
  const model = parts[0]?.model_name ?? 'default'
  const sum = (of: (part: MetricsSnapshot) => number) => parts.reduce((total, part) => total + of(part), 0)
  const counts = COUNTS.map((key) => [key, sum((part) => part.accumulated_token_usage?.[key] ?? 0)])
  const context_window = Math.max(0, ...parts.map((part) => part.accumulated_token_usage?.context_window ?? 0))
  return {
    model_name: model,
    accumulated_cost: sum((part) => part.accumulated_cost),
    max_budget_per_task: null,
    accumulated_token_usage: TokenUsage.parse({ model, context_window, ...Object.fromEntries(counts) }),
  }
}

/** The record of the child's spending in the parent, which replaces the previous one; empty when it is unchanged. */
export function spending(parent: ConversationState, bucket: string, child: ConversationState): Draft[] {
  const total = combined(child.stats)
  const before = parent.stats[bucket]
  if (Object.keys(child.stats).length === 0 || JSON.stringify(before) === JSON.stringify(total)) return []
  const old = before?.accumulated_token_usage
  const now = total.accumulated_token_usage
  const grown = COUNTS.map((key) => [key, Math.max(0, (now?.[key] ?? 0) - (old?.[key] ?? 0))])
  return [
    {
      kind: 'UsageRecordedEvent',
      source: 'environment',
      usage_id: bucket,
      model: total.model_name,
      response_id: '',
      cost: Math.max(0, total.accumulated_cost - (before?.accumulated_cost ?? 0)),
      latency: 0,
      tokens: TokenUsage.parse({ model: total.model_name, ...Object.fromEntries(grown) }),
      replaces: total,
    },
  ]
}

/** Why the budget of a conversation allows no further answer; null when it does. */
export function overdrawn(
  record: Pick<ConversationRecord, 'max_budget_per_task'>,
  state: ConversationState,
): StopReason | null {
  const { max_budget_per_task: max } = record
  if (max === null || costUsd(state) < max) return null
  return {
    code: 'MaxBudgetReached',
    detail: `The budget of ${max} US dollars is used up, sub-agents included. Raise max_budget_per_task and run again.`,
  }
}
