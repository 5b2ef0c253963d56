/**
 * The searchable columns that an append changes. Each change of one rewrites its indexes, four of seven pages of a small append, so an
 * unchanged status is left out, and the time of a running conversation is written once a second.
 */
import type { ConversationExecutionStatus } from '@parley/protocol'
import type { Append } from '../../storage/index.ts'

/** Milliseconds for which the stored `updated_at` may be older than the newest event while the status stays `running`. */
const LAG_MS = 1_000

type Columns = { status: ConversationExecutionStatus; updatedAt: Date }

export class RowChanges {
  /** The columns that were stored last; null: unknown. */
  #stored: Columns | null = null

  /** The columns to store with an append that leads to these values. */
  of({ status, updatedAt }: Columns): NonNullable<Append['row']> {
    const stored = this.#stored
    const isSame = stored?.status === status
    const isRecent = isSame && Math.abs(updatedAt.getTime() - stored.updatedAt.getTime()) < LAG_MS
    return {
      ...(isSame ? {} : { status }),
      ...(isRecent && status === 'running' ? {} : { updated_at: updatedAt.toISOString() }),
    }
  }

  /** Notes that the store has accepted an append with these values. */
  accepted({ status, updated_at }: NonNullable<Append['row']>): void {
    const stored = this.#stored
    const now = updated_at === undefined ? stored?.updatedAt : new Date(updated_at)
    const is = status ?? stored?.status
    this.#stored = now === undefined || is === undefined ? null : { status: is, updatedAt: now }
  }
}
