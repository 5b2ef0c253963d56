import type { ConversationState, ParleyError } from '@parley/protocol'
import type { ConversationRow } from '../../storage/index.ts'
import type { ConversationRecord } from './record.ts'

/** Row, record and state of a conversation at one moment. */
export type Reading = {
  row: ConversationRow
  record: ConversationRecord
  state: ConversationState
  /** Set when record or log cannot be read: record and state then only serve lists. */
  unreadable?: ParleyError
}
