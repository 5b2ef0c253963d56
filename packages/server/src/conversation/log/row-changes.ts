/**
 * The searchable columns that an append changes. Each change of one rewrites its indexes, four of seven pages of a small append, so an
 * unchanged status is left out, and the time of a running conversation is written once a second.
 */
import type { ConversationExecutionStatus } from '@parley/protocol'
import type { Append } from '../../storage/index.ts'

/** Milliseconds for which the stored `updated_at` may be older than the newest event while the status stays `running`. */
const LAG_MS = 1_000

type Columns = { status: ConversationExecutionStatus; wantsOwner: boolean; updatedAt: Date }

export class RowChanges {
  /** The columns that were stored last; null: unknown. */
  #stored: Columns | null = null

  /** The columns to store with an append that leads to these values. */
  of({ status, wantsOwner, updatedAt }: Columns): NonNullable<Append['row']> {
    const stored = this.#stored
    const isSame = stored?.status === status
    const isRecent = isSame && Math.abs(updatedAt.getTime() - stored.updatedAt.getTime()) < LAG_MS
    return {
      ...(isSame ? {} : { status }),
      // Without a value of its own, it follows from a status that changes.
      ...((isSame ? stored.wantsOwner : status === 'running') === wantsOwner ? {} : { wants_owner: wantsOwner }),
      ...(isRecent && status === 'running' ? {} : { updated_at: updatedAt.toISOString() }),
    }
  }

  /** Notes that the store has accepted an append with these values. */
  accepted({ status, updated_at, wants_owner }: NonNullable<Append['row']>): void {
    const stored = this.#stored
    const wantsOwner = wants_owner ?? (status === undefined ? stored?.wantsOwner : status === 'running')
    const now = updated_at === undefined ? stored?.updatedAt : new Date(updated_at)
    const is = status ?? stored?.status
    const isKnown = now !== undefined && is !== undefined && wantsOwner !== undefined
    this.#stored = isKnown ? { status: is, wantsOwner, updatedAt: now } : null
  }
}
