/** Number of a node, which is one run of one server process. No other run ever has it. */
export type NodeNumber = number

/** The nodes that use a store. */
export interface NodeStore {
  /** Returns a number that no node of this store has had. */
  add(): Promise<NodeNumber>
}
