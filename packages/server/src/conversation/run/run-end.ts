import type { ConversationExecutionStatus, ConversationState, StoredEvent } from '@parley/protocol'

/** How a run ended, for those who asked to be told. */
export type RunEnd = { execution_status: ConversationExecutionStatus; error: string | null; cost: number | null }

/** A run that waits for a person goes on when the answer comes. */
const GOES_ON: ReadonlySet<ConversationExecutionStatus> = new Set(['running', 'waiting_for_confirmation'])

/**
 * The end that a commit of `events` brings about; null for every other commit. Pure. Source: agent-core.md 12.9, F64: the
 * conversation's own error is told, else what the status says.
 */
export function runEnd(
  before: ConversationExecutionStatus,
  { execution_status, stats }: Pick<ConversationState, 'execution_status' | 'stats'>,
  events: readonly StoredEvent[] = [],
): RunEnd | null {
  if (before === execution_status || !GOES_ON.has(before) || GOES_ON.has(execution_status)) return null
  const own = events.map(({ event }) => event).findLast((event) => event.kind === 'ConversationErrorEvent')
  const error = execution_status === 'finished' ? null : (own?.detail ?? SAID[execution_status] ?? null)
  const costs = Object.values(stats).map(({ accumulated_cost }) => accumulated_cost)
  return { execution_status, error, cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0) }
}

const SAID: Partial<Record<ConversationExecutionStatus, string>> = {
  paused: 'The run was paused before it had finished.',
  stuck: 'The agent repeated itself without getting on.',
  error: 'The run ended with an error.',
  deleting: 'The conversation was deleted before its run had finished.',
  idle: 'The run ended before it had finished.',
}
