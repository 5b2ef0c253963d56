import type { ConversationId } from '@parley/protocol'
import type { NodeNumber } from './nodes.ts'

/** A completion callback that is owed for a run. It outlives its conversation, whose deletion it reports. */
export type OwedCallback = {
  id: string
  conversation_id: ConversationId
  /** True while the end of the run is not known. */
  is_open: boolean
  /** Opaque for the store. */
  json: string
}

/** Callbacks, each of which belongs to the node that sends it. What resolves is durable. */
export interface CallbackStore {
  /**
   * Makes the open callback of the conversation one of `by`, whichever node had it, and returns its id. Without an open one, stores this
   * one.
   */
  begin(callback: OwedCallback, by: NodeNumber): Promise<string>
  /** Id of the open callback of a conversation; null: none. */
  openOf(id: ConversationId): Promise<string | null>
  /** Replaces an open callback, which belongs to `by` from then on. False when it is not open any more; nothing changes then. */
  end(callback: OwedCallback, by: NodeNumber): Promise<boolean>
  /** Stores a callback, or replaces the one with its id. `by` null: no node sends it yet. */
  put(callback: OwedCallback, by: NodeNumber | null): Promise<void>
  /**
   * Makes the callbacks without a node, and those of nodes that have ended, callbacks of `by`, and returns them in the order of their ids.
   * An open one is left while the run of its conversation continues. Of two nodes, one gets a callback.
   */
  take(by: NodeNumber): Promise<OwedCallback[]>
  /** True while a callback belongs to a node and is neither removed nor parked. */
  isOf(id: string, node: NodeNumber): Promise<boolean>
  /** Those that are neither removed nor parked, in the order of their ids. */
  owed(): Promise<OwedCallback[]>
  /** Keeps a callback that is not sent any more. */
  park(id: string): Promise<void>
  remove(id: string): Promise<void>
}
