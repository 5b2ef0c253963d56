import type { ConversationState } from '@parley/protocol'
import type { ConversationRow } from '../../storage/index.ts'
import type { ConversationRecord } from './record.ts'

/** Row, record and state of a conversation at one moment. */
export type Reading = { row: ConversationRow; record: ConversationRecord; state: ConversationState }
