import type { NodeNumber, NodeRow } from './nodes.ts'

/**
 * What several nodes on one store exclude and find each other by. A node that has opened its lease takes conversations of nodes that have ended
 * only when the lease allows it (`mayTakeOver`).
 */
export interface SharedStore {
  /**
   * Takes the lease of a node. When the session with the store is lost, the lease takes the same number again.
   * @param leaseMs milliseconds without a sign of life after which the store ends the lease
   * @throws ParleyError `unavailable`; also when a pooler is between node and store that gives a session to several clients
   */
  openLease(node: NodeNumber, leaseMs: number): Promise<Lease>
  /** Opens the notifications between nodes. @throws ParleyError `unavailable` */
  openNotifications(node: NodeNumber): Promise<Notifications>
  /**
   * Calls `onEnded` when another node holds its lease no longer and did not return at once, until disposal. Each end is noticed by one of the
   * nodes; one that comes with others, or while there is no connection, may be noticed by none.
   */
  watchLeases(node: NodeNumber, onEnded: () => void): AsyncDisposable
  /** The nodes that hold their leases. */
  liveNodes(): Promise<NodeRow[]>
  /** Changes the address of a node for others. */
  setUrl(node: NodeNumber, url: string): Promise<void>
  /** Others see that the node accepts no new work. */
  setDraining(node: NodeNumber): Promise<void>
}

export interface Lease extends AsyncDisposable {
  /** True while the lease was confirmed within two thirds of its time, and no clock has jumped since. */
  readonly isConfirmed: boolean
  /**
   * True when conversations of nodes that seem to have ended may be taken: the session is as old as a lease. A younger one may have begun
   * with a restart of the store, after which every node only reconnects.
   */
  readonly mayTakeOver: boolean
  /** Number of the session; it grows with each new one. */
  readonly session: number
  /** Asks the store for a confirmation. Resolves true when the lease is confirmed, false when there is no session. */
  ping(): Promise<boolean>
  /** Takes a lock that ends with the session, if no other node has it. False also without a session. */
  tryLock(name: string): Promise<boolean>
  unlock(name: string): Promise<void>
  /** Calls `listener` when the session was lost (`false`), and when there is a new one (`true`). */
  onSession(listener: (isHeld: boolean) => void): Disposable
}

/** Short messages between nodes. None is repeated; after a connection was lost, `onMissed` tells that some may be missing. */
export interface Notifications extends AsyncDisposable {
  /** Sends within a short time; equal messages of that time become one. `subject` null: any. */
  send(topic: string, subject: string | null): void
  /** Sends what waits. */
  flush(): Promise<void>
  /** Calls `listener` for each message of another node, until disposal. */
  onMessage(listener: (topic: string, subject: string | null) => void): Disposable
  onMissed(listener: () => void): Disposable
}
