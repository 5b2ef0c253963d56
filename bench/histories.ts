/** Stored conversations that a measurement begins with. */
import { AgentBase, type ConversationId, type ConversationState, type Draft, type StoredEvent } from '@parley/protocol'
import type { ViewCheckpoint } from '../packages/server/src/conversation/branch/view.ts'
import { writeCachedLog } from '../packages/server/src/conversation/log/cached-log.ts'
import type { NewConversation } from '../packages/server/src/storage/index.ts'

/** A log, with its state and its view. */
export type History = { events: StoredEvent[]; state: ConversationState; view: ViewCheckpoint | null }

/** A finished conversation with this history, as the store creates it. */
export function stored(id: ConversationId, agent: unknown, workingDir: string, history: History): NewConversation {
  const record = {
    workspace: { kind: 'LocalWorkspace', working_dir: workingDir },
    agent: AgentBase.parse(agent),
    persistence_dir: null,
    max_iterations: 500,
    max_budget_per_task: null,
    stuck_detection: false,
    title: null,
    tags: {},
    client_tools: [],
    parent_conversation_id: null,
    forked_from_conversation_id: null,
    forked_from_event_id: null,
    launched_agent_profile: null,
    fingerprint: '',
    pending_messages: [],
  }
  const at = new Date().toISOString()
  return {
    id,
    owner: 'default',
    created_at: at,
    updated_at: at,
    node: null,
    status: 'finished',
    parent_conversation_id: null,
    record: JSON.stringify(record),
    events: history.events,
    state: writeCachedLog({ state: history.state, view: history.view }),
  }
}

/** The end of a conversation's start. */
export function ready(): Draft {
  return { kind: 'StartPhaseEvent', source: 'environment', phase: 'ready', status: 'done', code: null, detail: null }
}
