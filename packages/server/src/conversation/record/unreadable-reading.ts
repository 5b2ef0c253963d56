import { EMPTY_STATE, type ParleyError } from '@parley/protocol'
import type { ConversationRow } from '../../storage/index.ts'
import type { Reading } from './reading.ts'
import type { ConversationRecord } from './record.ts'

/** Code of the start in listings of a conversation that cannot be read. */
const UNREADABLE = 'ConversationUnreadable'

/**
 * What lists show of a conversation whose record or log cannot be read: its row, the reason, and the status `error`.
 * @param record null when the record is what cannot be read
 */
export function unreadableReading(
  row: ConversationRow,
  record: ConversationRecord | null,
  error: ParleyError,
): Reading {
  const detail = error.message
  const start = { phase: 'ready', status: 'failed', code: UNREADABLE, detail } as const
  return {
    row,
    record: record ?? withoutRecord(row),
    state: { ...EMPTY_STATE, execution_status: 'error', owes_step: false, start },
    unreadable: error,
  }
}

/** A record with no more than the row says. */
const withoutRecord = ({ parent_conversation_id }: ConversationRow): ConversationRecord => ({
  workspace: { kind: 'LocalWorkspace', working_dir: '' },
  agent: { kind: 'Agent', llm: { model: 'unknown' }, tools: [] } as unknown as ConversationRecord['agent'],
  persistence_dir: null,
  max_iterations: 1,
  max_budget_per_task: null,
  stuck_detection: true,
  title: null,
  tags: {},
  client_tools: [],
  parent_conversation_id,
  forked_from_conversation_id: null,
  forked_from_event_id: null,
  launched_agent_profile: null,
  fingerprint: '',
  pending_messages: [],
})
