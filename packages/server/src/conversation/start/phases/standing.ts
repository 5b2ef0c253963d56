/** Where a conversation's start stands, concluded from its state alone. Pure. */
import type {
  ConversationExecutionStatus,
  ConversationProgress,
  ConversationState,
  ConversationStatus,
} from '@parley/protocol'
import type { Reading } from '../../live/roster.ts'
import type { ConversationRecord } from '../../record/record.ts'
import { STOPPED } from './phase.ts'

/** The agent is there: messages go into the log and runs go on. */
export const isReady = ({ start }: ConversationState): boolean => start?.phase === 'ready' && start.status === 'done'

/** Its start failed, was called off, or the conversation was stopped: somebody has to start it again. */
export const hasToStartAgain = ({ start }: ConversationState): boolean => start?.status === 'failed'

/** Source: conversation-service.md 1.5, transitions; design.md 4, "A start that fails". */
export function conversationStatus(state: ConversationState): ConversationStatus {
  if (state.execution_status === 'deleting' || hasToStartAgain(state)) return 'STOPPED'
  return isReady(state) ? 'RUNNING' : 'STARTING'
}

/**
 * The status as a searchable column. A start that depends on the outside world counts as running, so that the next process
 * takes it up by itself, message or not.
 */
export function columnStatus(state: ConversationState, record: ConversationRecord): ConversationExecutionStatus {
  const isFetching = Boolean(record.repository) || Boolean(record.plugins?.length)
  const goesOn = isFetching && !isReady(state) && !hasToStartAgain(state)
  return goesOn && state.execution_status === 'idle' ? 'running' : state.execution_status
}

/** Source: conversation-service.md 1.5, progress codes. */
const CODES: Readonly<Record<string, string>> = {
  workspace: 'STATUS$STARTING_RUNTIME',
  repository: 'STATUS$SETTING_UP_WORKSPACE',
  branch: 'STATUS$SETTING_UP_WORKSPACE',
  setup: 'STATUS$SETTING_UP_GIT_HOOKS',
  skills: 'STATUS$SETTING_UP_WORKSPACE',
  agent: 'STATUS$RUNTIME_STARTED',
}

function runtimeStatus(state: ConversationState): string {
  const { start } = state
  if (isReady(state)) return 'STATUS$READY'
  if (start?.status !== 'failed') return CODES[start?.phase ?? 'workspace'] ?? 'STATUS$STARTING_RUNTIME'
  if (start.code === STOPPED) return STOPPED
  return start.code === 'GIT$AUTHENTICATION_FAILED' ? 'STATUS$GIT_PROVIDER_AUTHENTICATION_ERROR' : 'STATUS$ERROR'
}

/** A conversation in the product's words. Source: conversation-service.md 2, Info object. */
export function conversationProgress(
  { row, record, state }: Reading,
  live: { readers: number; children: readonly string[] },
): ConversationProgress {
  const { start } = state
  return {
    conversation_id: row.id,
    title: record.title ?? `Conversation ${row.id.slice(0, 5)}`,
    status: conversationStatus(state),
    runtime_status: runtimeStatus(state),
    execution_status: state.execution_status,
    phase: start?.phase ?? null,
    code: start?.code ?? null,
    reason: start?.detail ?? null,
    selected_repository: record.repository?.name ?? null,
    selected_branch: record.repository?.checked_out ?? record.repository?.branch ?? null,
    git_provider: record.repository?.provider ?? null,
    trigger: record.trigger ?? null,
    num_connections: live.readers,
    url: `/api/conversations/${row.id}`,
    created_at: row.created_at,
    last_updated_at: row.updated_at,
    sub_conversation_ids: [...live.children],
  }
}
