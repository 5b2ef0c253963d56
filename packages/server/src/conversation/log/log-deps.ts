import type { PruneLimits } from '../../agent/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Cipher } from '../../secrets/index.ts'
import type { Storage } from '../../storage/index.ts'
import type { ConversationRecord, MaskDrafts, MaskForCommit } from '../record/record.ts'
import type { AppendRetry } from './append-retry.ts'
import type { Stamps } from './stamp.ts'

export type LogDeps = {
  storage: Storage
  stamps: Stamps
  /** True while there is a webhook target, so that notifications are drafted. */
  notifies: () => boolean
  /** Returns the record as text for the store, secrets encrypted. */
  writeRecord: (record: ConversationRecord) => string
  /** Masks the secret values of the conversation's owner. */
  mask: MaskDrafts
  /** As `mask`, for events. */
  maskForCommit: MaskForCommit
  /** Seals the arguments of calls whose events are masked. */
  cipher: Pick<Cipher, 'seal' | 'open'>
  /** Waits of the appends that the store refused. */
  appendRetry: AppendRetry
  /** When the view leaves out old results. */
  pruning: PruneLimits
  log: Pick<Log, 'warn' | 'error'>
}
