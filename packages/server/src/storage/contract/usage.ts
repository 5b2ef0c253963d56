/** What a user has used. Source: docs/quotas.md. */
export type Usage = {
  /** Bytes of the events and files of the user's conversations, received ones included. */
  stored_bytes: number
  /** US dollars of the answers of models in the month. An answer without a known price counts nothing. */
  cost_usd: number
  /** Answers in the month of which no price is known. */
  unpriced_answers: number
  /** Bytes of the uploads of the day. */
  uploaded_bytes: number
}

/** Counters of users. Each is changed in the transaction that writes what it counts, so a crash leaves none wrong. */
export interface UsageStore {
  /** In the month and the day of `at`, in UTC. */
  of(user: string, at: Date): Promise<Usage>
  /** Users who have a counter, in the order of their names. */
  users(): Promise<string[]>
  /** Counts an upload, on the day of `at` in UTC. */
  addUpload(user: string, at: Date, bytes: number): Promise<void>
}
