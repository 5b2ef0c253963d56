/** Number of a node, which is one run of one server process. No other run ever has it. */
export type NodeNumber = number

/** Id of a data directory (`place-id.ts`): the place of the local workspaces, processes and files of conversations. */
export type PlaceId = string

/** What other nodes see of a node. */
export type NodeDetails = {
  /** Address at which other nodes reach it, without a trailing slash. */
  url: string
  /** Version of Parley. */
  version: string
  /** The places that it works at. */
  places: readonly PlaceId[]
}

export type NodeRow = NodeDetails & {
  n: NodeNumber
  /** ISO 8601, UTC. */
  startedAt: string
  /** Null while it accepts work. ISO 8601, UTC. */
  drainingAt: string | null
}

/** What carries a store. `synchronous_standby`: commits wait for a standby; null: the engine has none. */
type StoreFacts = { engine: 'sqlite' | 'postgresql'; version: string; synchronous_standby: boolean | null }

/** The nodes that use a store. */
export interface NodeStore {
  /** Returns a number that no node of this store has had. `details` absent: no other node reaches it. */
  add(details?: NodeDetails): Promise<NodeNumber>
  /**
   * Returns such a number without a write, for the only process that uses the store, which calls it once. Its first write also stores the
   * number, so nothing that is stored ever names one that is not, and a start does not wait for the disk.
   */
  reserve(): Promise<NodeNumber>
  /** Numbers of the conversations that should run, by their nodes; null: none, or one that was released. */
  running(): Promise<{ node: NodeNumber | null; count: number }[]>
  facts(): Promise<StoreFacts>
}
