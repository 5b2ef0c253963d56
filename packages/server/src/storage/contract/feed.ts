import type { ConversationId } from '@parley/protocol'

/** Changes of the conversations of one user. `n`: the number of the newest one. */
type FeedChanges = { n: number; changes: FeedChange[] }

/** `n`: number of the newest change of this conversation. It may be deleted. */
export type FeedChange = { n: number; conversation_id: ConversationId }

/** How many changes of a user are kept. */
export const KEPT_CHANGES = 500

/** How far the numbers of changes are raised when a backup is restored: no reader resumes at a number from after the backup. */
export const RESTORED_CHANGES = 1_000_000

/**
 * Which conversations of a user have changed: created, deleted, or with another status, record or `updated_at`. Each change has the next
 * number of its user, without gaps, and is written in the transaction that makes it.
 */
export interface FeedStore {
  /** The number of the newest change; 0: there is none. */
  newest(user: string): Promise<number>
  /** Conversations that changed after the change `n`, each once, oldest change first; null: some of these changes are not kept any more. */
  since(user: string, n: number): Promise<FeedChanges | null>
  /** Calls `listener` with the user after each change that this process has stored, until the result is called. */
  subscribe(listener: (user: string) => void): () => void
}
