import type { ConversationId } from '@parley/protocol'

/** A completion callback that is owed for a run. It outlives its conversation, whose deletion it reports. */
export type OwedCallback = {
  id: string
  conversation_id: ConversationId
  /** Opaque for the store. */
  json: string
}

export interface CallbackStore {
  /** Stores a callback, or replaces the one with its id. Durable when it resolves. */
  put(callback: OwedCallback): Promise<void>
  /** Those that are neither removed nor parked, in the order of their ids. */
  owed(): Promise<OwedCallback[]>
  /** Keeps a callback that is not sent any more. */
  park(id: string): Promise<void>
  remove(id: string): Promise<void>
}
