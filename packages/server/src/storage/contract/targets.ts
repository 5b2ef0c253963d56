import type { NodeNumber } from './nodes.ts'

/** A receiver of notifications and events. */
export type OutboxTarget = {
  /** Key of the stored deliveries; the same name finds them again after a restart. */
  name: string
  /** True: the target also gets the events of the logs, in batches. */
  events: boolean
  /** True: the target also gets the notifications that only targets with this member get. Absent: false. */
  waiting?: boolean
}

/** A target and what its sender needs. */
export type NewTarget = OutboxTarget & {
  /** Members without secrets, as JSON. */
  options: string
  /** Members with secrets; cipher text that the caller has made. */
  sealed: string
  /** `configuration`: that of a server names it. `command`: it was stored by a command. */
  origin: 'configuration' | 'command'
}

/**
 * `version`: number of the change that it comes from; no other change has the same. `sender`: the last node that led the target; null: none,
 * or the store has one node only.
 */
export type StoredTarget = NewTarget & { version: number; updated_at: string; sender: NodeNumber | null }

/** The targets of webhooks. A removed one stays known, so that an old configuration does not bring it back. */
export interface TargetStore {
  /** Number of the last change, by whichever process; 0: there was none. */
  version(): Promise<number>
  /** In the order of their names. */
  list(): Promise<StoredTarget[]>
  /**
   * Reads the targets and makes them those of later commits of this process; without any, nothing is written for them. Waiting deliveries
   * whose target was removed are parked, and its followed logs are dropped.
   */
  load(): Promise<{ version: number; targets: StoredTarget[] }>
  /** Inserts or replaces a target. */
  put(target: NewTarget): Promise<void>
  /** Inserts a target; false when it is known, also as a removed one. */
  add(target: NewTarget): Promise<boolean>
  /** False for an unknown target. */
  remove(name: string): Promise<boolean>
  /** Puts these targets and removes all others of the origin `configuration`, in one transaction. */
  configure(targets: readonly NewTarget[]): Promise<void>
}
