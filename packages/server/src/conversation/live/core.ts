import type { ConversationId, Draft, StoredEvent } from '@parley/protocol'
import type { Mailbox } from '../../lib/index.ts'
import type { Masker } from '../../secrets/index.ts'
import type { Channel } from '../watch/channel.ts'
import type { CondensationWish } from '../run/condensation-wish.ts'
import type { Errands } from './errands.ts'
import type { LiveLog } from '../log/live-log.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { Reminder } from '../watch/reminder.ts'
import type { AgentSeat } from './agent-seat.ts'
import type { LiveDeps } from './deps.ts'

/** One conversation in memory as its parts see it; each part names what it takes of it. */
export type Core = {
  readonly id: ConversationId
  readonly owner: string
  readonly epoch: number
  readonly deps: LiveDeps
  readonly channel: Channel
  readonly log: LiveLog
  /** Whatever changes the conversation takes its turn here. */
  readonly mailbox: Mailbox
  readonly errands: Errands
  readonly agent: AgentSeat
  readonly wish: CondensationWish
  readonly reminder: Reminder
  /** Hides what is secret in this conversation now. */
  masker: () => Promise<Masker>
  /** Only in a turn. `isEdited`: a person changed title or tags with it. */
  append: (drafts: readonly Draft[], record?: ConversationRecord, isEdited?: boolean) => Promise<StoredEvent[]>
  emitSnapshot: () => void
  /** This copy of the conversation counts no more. */
  isClosed: () => boolean
}
