/** The status of a conversation's start, concluded from its state alone. Pure. */
import type { ConversationExecutionStatus, ConversationState, ConversationStatus } from '@parley/protocol'
import type { ConversationRecord } from './record.ts'

/** Code of a start that a person cancelled, and of a stopped conversation. Source: conversation-service.md 1.5. */
export const STOPPED = 'STATUS$STOPPED'

/** The agent is open: messages enter the log and runs proceed. */
export const isReady = ({ start }: ConversationState): boolean => start?.phase === 'ready' && start.status === 'done'

/** The start failed or was cancelled, or the conversation was stopped: it needs a command to start again. */
export const hasToStartAgain = ({ start }: ConversationState): boolean => start?.status === 'failed'

/** Source: conversation-service.md 1.5; decisions.md, A start that fails. */
export function conversationStatus(state: ConversationState): ConversationStatus {
  if (state.execution_status === 'deleting' || hasToStartAgain(state)) return 'STOPPED'
  return isReady(state) ? 'RUNNING' : 'STARTING'
}

/**
 * The status as a searchable column. A start that fetches a repository or plugins counts as running, so that the next
 * process resumes it without a message.
 */
export function columnStatus(state: ConversationState, record: ConversationRecord): ConversationExecutionStatus {
  const isFetching = Boolean(record.repository) || Boolean(record.plugins?.length)
  const isStarting = isFetching && !isReady(state) && !hasToStartAgain(state)
  return isStarting && state.execution_status === 'idle' ? 'running' : state.execution_status
}

/** True for a conversation that a node must work on without being asked: it runs, or its start has not ended. */
export const wantsOwner = (state: ConversationState): boolean =>
  state.execution_status === 'running' || conversationStatus(state) === 'STARTING'
