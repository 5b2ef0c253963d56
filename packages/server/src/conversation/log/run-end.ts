import type { ConversationExecutionStatus, ConversationState, StoredEvent } from '@parley/protocol'

/** The end of a run, for completion callbacks. */
export type RunEnd = { execution_status: ConversationExecutionStatus; error: string | null; cost: number | null }

/** Statuses of a run that continues: one that waits for a person continues with the answer. */
const GOES_ON: ReadonlySet<ConversationExecutionStatus> = new Set(['running', 'waiting_for_confirmation'])

/**
 * Returns the end of a run that a commit of `events` causes; null for every other commit. Pure. The reason is the
 * conversation's own error, otherwise the status. Source: agent-core.md 12.9; F64.
 */
export function runEnd(
  before: ConversationExecutionStatus,
  { execution_status, stats }: Pick<ConversationState, 'execution_status' | 'stats'>,
  events: readonly StoredEvent[] = [],
): RunEnd | null {
  if (before === execution_status || !GOES_ON.has(before) || GOES_ON.has(execution_status)) return null
  const own = events.map(({ event }) => event).findLast((event) => event.kind === 'ConversationErrorEvent')
  const error = execution_status === 'finished' ? null : (own?.detail ?? DEFAULT_REASONS[execution_status] ?? null)
  const costs = Object.values(stats).map(({ accumulated_cost }) => accumulated_cost)
  return { execution_status, error, cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0) }
}

const DEFAULT_REASONS: Partial<Record<ConversationExecutionStatus, string>> = {
  paused: 'The run was paused before it had finished.',
  stuck: 'The agent repeated itself without getting on.',
  error: 'The run ended with an error.',
  deleting: 'The conversation was deleted before its run had finished.',
  idle: 'The run ended before it had finished.',
}
