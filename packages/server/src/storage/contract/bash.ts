/** A command that a user ran outside conversations, or a part of its output. */
export type BashEventRow = {
  id: string
  kind: string
  /** For an output: the id of its command. */
  command_id: string | null
  /** For an output: its index among the outputs of its command. */
  order: number | null
  /** ISO 8601, UTC, `Z`. */
  timestamp: string
  json: string
}

export type BashQuery = {
  kind?: string
  command_id?: string
  timestampGte?: string
  timestampLt?: string
  /** Only outputs with a higher index. */
  orderGt?: number
  order: 'asc' | 'desc'
  limit: number
  /** Id of the first item of the page; an unknown one starts at the beginning. */
  from?: string
}

/** Commands of users and their outputs, in the order of insertion, separate for each user. */
export interface BashStore {
  /** Stores one event, unless its id is known. A command is open until an output is stored with `closes`. */
  append(user: string, event: BashEventRow, closes?: boolean): Promise<void>
  get(user: string, id: string): Promise<BashEventRow | null>
  search(user: string, query: BashQuery): Promise<{ items: BashEventRow[]; next: string | null }>
  /** Deletes all events of a user. Returns their number. */
  clear(user: string): Promise<number>
  /** Deletes the oldest events beyond these bounds, except those of open commands. Returns their number. */
  prune(user: string, bounds: { atMost: number; maxBytes: number }): Promise<number>
  /** Commands without a last output. */
  open(): Promise<{ user: string; event: BashEventRow }[]>
}
