import type { SealedJson } from './conversations.ts'

/** A user's settings as one JSON object. Changes are transactions, so that concurrent writers keep each other's members. */
export interface SettingsStore {
  get(user: string): Promise<SealedJson | null>
  /** Atomically replaces the stored value (null: none) by the result of `change`, which must be synchronous. */
  update(user: string, change: (current: SealedJson | null) => SealedJson): Promise<SealedJson>
}

export type SecretRow = {
  name: string
  description: string | null
  sealed: string
  created_at: string
  updated_at: string
}

/** Named secrets of a user; `sealed` is cipher text that the caller has made. */
export interface SecretStore {
  /**
   * Returns the version of the user's secrets and settings, which every change of either replaces, whatever process makes it. Two
   * different contents never have the same version; 0: there were none.
   */
  version(user: string): Promise<number>
  list(user: string): Promise<SecretRow[]>
  get(user: string, name: string): Promise<SecretRow | null>
  /** False when the name is taken. */
  create(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<boolean>
  /** Inserts or replaces. */
  put(user: string, secret: { name: string; description: string | null; sealed: string }): Promise<void>
  /** Changes name and description; the value stays. `taken`: another secret has the new name. */
  rename(
    user: string,
    name: string,
    to: { name: string; description: string | null },
  ): Promise<'renamed' | 'unknown' | 'taken'>
  delete(user: string, name: string): Promise<boolean>
}

export type DocumentRow = { name: string; json: SealedJson; created_at: string; updated_at: string }

/** The documents of one user inside a transaction; an error rolls it back. */
export interface DocumentEdit {
  /** By name. */
  list(collection: string): DocumentRow[]
  get(collection: string, name: string): DocumentRow | null
  /** Inserts or replaces a document; its time of creation stays. */
  put(collection: string, name: string, json: SealedJson): void
  delete(collection: string, name: string): boolean
}

/** Small JSON objects of a user by collection and name, such as profiles. */
export interface DocumentStore {
  /** By name. */
  list(user: string, collection: string): Promise<DocumentRow[]>
  get(user: string, collection: string, name: string): Promise<DocumentRow | null>
  /** Runs `change` in one transaction, so that constraints between documents hold. `change` must be synchronous and may run twice. */
  edit<T>(user: string, change: (documents: DocumentEdit) => T): Promise<T>
}
