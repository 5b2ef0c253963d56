/** The progress of a conversation, as products show it. Pure. */
import type { ConversationProgress, ConversationState } from '@parley/protocol'
import type { Reading } from './reading.ts'
import { conversationStatus, isReady, STOPPED } from './start-status.ts'

/** Source: conversation-service.md 1.5. */
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

/** Source: conversation-service.md 2. */
export function conversationProgress(
  { row, record, state }: Reading,
  { watchers, children }: { watchers: number; children: readonly string[] },
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
    num_connections: watchers,
    url: `/api/conversations/${row.id}`,
    created_at: row.created_at,
    last_updated_at: row.updated_at,
    sub_conversation_ids: [...children],
  }
}
