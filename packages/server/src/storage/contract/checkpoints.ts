import type { ConversationId } from '@parley/protocol'

/** A checkpoint of a conversation's files: they were as in `tree` from event `seq` until the next checkpoint. */
export type CheckpointRow = {
  /** `seq` of the event that it belongs to; 0: before the first event. */
  seq: number
  /** Id of a git tree. The objects are outside of the store, in the folder of the conversation. */
  tree: string
}

/** The checkpoints of files, which are deleted with their conversation. */
export interface CheckpointStore {
  /** The last checkpoint at or before the event `seq`; absent: the last one. */
  at(id: ConversationId, seq?: number): Promise<CheckpointRow | null>
  /** All checkpoints of a conversation, oldest first. */
  list(id: ConversationId): Promise<CheckpointRow[]>
  /**
   * Adds a checkpoint, or replaces the one of the same event. Resolves when it is durable.
   * @throws ParleyError `not_found`; `conflict` with `details.reason` `epoch` when another process has taken the conversation over
   */
  put(id: ConversationId, epoch: number, checkpoint: CheckpointRow): Promise<void>
  /** Forgets the checkpoints before the event `seq`. */
  removeBefore(id: ConversationId, seq: number): Promise<void>
}
