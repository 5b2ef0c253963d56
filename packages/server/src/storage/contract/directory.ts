import type { ConversationId } from '@parley/protocol'

/** A value that was sealed with the key of the store, which another key does not open, and the salt of that key. */
export type SealTest = { sealed: string; salt: string }

/** The salt is null where an older version stored the value. */
export type StoredSealTest = Omit<SealTest, 'salt'> & { salt: string | null }

export interface SealTestStore {
  /** Null before the first one is stored. */
  get(): Promise<StoredSealTest | null>
  /** Stores the first value, and returns it; of several processes that do so at once, all get the one that is stored. */
  add(test: SealTest): Promise<StoredSealTest>
  /** Replaces the value, or stores the first one. */
  put(test: SealTest): Promise<void>
  /** Texts of secrets, settings, documents and records that contain `prefix`; a bounded number. */
  samples(prefix: string): Promise<string[]>
}

/** What the store knows of the records of calls that its data directory keeps outside of it. */
export type DataDirectory = {
  /** Id of the runner's call ledger; null before a runner was used. */
  ledger: string | null
  /** Number in the mark file of the directory. It grows with every start of a server. */
  mark: number
  /** Number that is being written to that file; null otherwise. */
  nextMark: number | null
}

/** Proof that a call which no record names never began. */
export interface CallStore {
  /** Null before the first start of a server of version 0.2 or later. */
  directory(): Promise<DataDirectory | null>
  /**
   * Stores what belongs to this store from now on. `isComplete` false: records may be missing, so every call that is stored now
   * becomes unproven, in the same transaction.
   */
  setDirectory(directory: DataDirectory, isComplete: boolean): Promise<void>
  /** Those of `calls` of a conversation, or of commands outside conversations, that are unproven. */
  unproven(conversation: ConversationId, calls: readonly string[]): Promise<Set<string>>
}
