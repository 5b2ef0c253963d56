/** What binds a sub-agent's conversation to the one that it works for. */
import type { ConversationId, ConversationState } from '@parley/protocol'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { StopReason } from '../run/next.ts'
import type { ConversationRecord } from '../record/record.ts'

/** Why those above can pay for no further answer; null: they can. Looks at what they have spent by now. */
export type Purse = () => StopReason | null

export type Kin = {
  /** Of those that a sub-agent works for; null when there is nobody, or nobody any more. */
  purseOf(record: ConversationRecord): Promise<Purse | null>
  /** Tells the parent what a sub-agent has spent so far, before it goes on; the purse as it is then. */
  spent(id: ConversationId, record: ConversationRecord, state: ConversationState): Promise<Purse | null>
  /**
   * Interrupts all that work for a conversation, on every level. Its run has to be cancelled before, so that nobody is set to
   * work meanwhile; who is attending to a sub-agent is waited for.
   */
  interrupt(parent: ConversationId): Promise<void>
  /** Pauses a sub-agent that was at work when the last process ended, if the conversation that waits for it rests. */
  beforeResuming(child: LiveConversation): Promise<void>
}
