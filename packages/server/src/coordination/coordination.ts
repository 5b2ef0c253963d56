/**
 * Which of the nodes that share a store may work on what, and how they wake each other.
 *
 * Invariants
 *   N1. Safety depends on the epoch of a conversation alone. The lease of a node only decides who may try.
 *   N4. A node that could not confirm its lease for two thirds of the lease begins no effect (`confirm`).
 *   N5. The loss of the session with the store gives no conversation away. What waits, waits until the session is back.
 */
import type { ConversationId } from '@parley/protocol'
import type { NodeNumber, NodeRow, PlaceId } from '../storage/index.ts'

/** Address and state of a node that is alive. */
export type LiveNode = NodeRow

/**
 * Who owns a conversation. `here`: this node. `elsewhere`: a node that is alive and has this address. `nowhere`: no live node may own
 * it, because its files are at a place without one. `unknown`: there is no such conversation.
 */
export type Owner =
  | { kind: 'here' }
  | { kind: 'elsewhere'; node: NodeNumber; url: string }
  | { kind: 'nowhere'; place: string }
  | { kind: 'unknown' }

/**
 * What nodes tell each other. A message may be late or lost, and is never sent again: each receiver also looks by itself from time to time.
 * `orphans`: a conversation without an owner should run. `deliveries`: a webhook delivery is due. `targets`: the webhook targets have
 * changed. `keys`: the key with this id was changed or revoked. `users`: a user was suspended or returned. `feed`: conversations of
 * this user have changed.
 */
export type Topic = 'orphans' | 'deliveries' | 'targets' | 'keys' | 'users' | 'feed'

export interface Coordination extends AsyncDisposable {
  /** This run of the process. */
  readonly node: NodeNumber
  /** Where local workspaces of this node are; null: the store is not shared. */
  readonly place: PlaceId | null
  /** True when other nodes may share the store. */
  readonly isShared: boolean
  /** Resolves when this node may begin an effect, at once in the usual case (N4). @throws the reason of the signal */
  confirm(signal: AbortSignal): Promise<void>
  /** Who owns a conversation. One that has no live owner, and that this node may own, becomes this node's, with its whole root. */
  claim(id: ConversationId): Promise<Owner>
  /** Who owns a conversation, which is not changed. One without a live owner that this node may own counts as `here`. */
  ownerOf(id: ConversationId): Promise<Owner>
  /**
   * Claims conversations that should run and have no live owner, those of at most `limit` roots, and returns them; none: there are no
   * more for this node. Some may be in memory already. None while the node drains.
   */
  claimOrphans(limit: number): Promise<ConversationId[]>
  /** Calls `listener` when there may be orphans, until disposal. It is also called from time to time. */
  onOrphans(listener: () => void): Disposable
  /**
   * Calls `listener` when the session with the store is back after it was lost, until disposal. Meanwhile other nodes may have claimed
   * conversations of this one: `listener` gives up those that are in memory, and `confirm` waits for it. One that rejects is repeated.
   */
  onReturn(listener: () => void | Promise<void>): Disposable
  /** Tells the other nodes; several messages of a short time may become one. */
  tell(topic: Topic, subject?: string): void
  /** Calls `listener` for each message of other nodes, until disposal. `subject` null: any may be meant, because messages were lost. */
  on(topic: Topic, listener: (subject: string | null) => void): Disposable
  /**
   * Runs `work` on one node at a time, here when this node becomes the leader for `name`. Its signal is aborted when the node may no
   * longer be the leader. Disposal ends it and gives the leadership away.
   */
  lead(name: string, work: (signal: AbortSignal) => Promise<void>): AsyncDisposable
  /**
   * Publishes the address at which this server listens, unless another one is configured for other nodes.
   * @throws ParleyError `conflict` when another node has the same address
   */
  listensAt(url: string): Promise<void>
  /** The nodes that are alive, this one included. */
  nodes(): Promise<LiveNode[]>
  /** This node claims nothing more, and the others see that. */
  drain(): Promise<void>
  /**
   * Gives away the conversations of this node, and tells the others. Their runs have ended.
   * @param keeping given while this node still works: only conversations that can move are given away, and not those of these roots
   */
  release(keeping?: readonly ConversationId[]): Promise<void>
}
