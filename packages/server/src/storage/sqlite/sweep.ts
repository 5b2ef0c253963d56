/**
 * Removes the events of deleted conversations behind everyone's back: deleting answers after one small transaction,
 * the log goes in slices between other work. What a stop leaves over is found again at the next open.
 */
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Events removed in one transaction: a few milliseconds. */
const SLICE = 500

/** A log that nobody has still to be sent (invariant O3 in `outbox.ts`). */
export const SWEEPABLE_SQL = 'SELECT conversation, seq FROM deleted_logs WHERE held = 0 LIMIT 1'

export class LogSweep {
  readonly #sql: Sql
  readonly #commits: GroupCommit
  #running: Promise<void> | undefined
  #stopped = false

  constructor(sql: Sql, commits: GroupCommit) {
    this.#sql = sql
    this.#commits = commits
  }

  /** Starts sweeping unless it goes on already. A failure ends it until the next start; nothing else depends on it. */
  start(): void {
    if (this.#stopped || this.#running !== undefined) return
    this.#running = this.#sweep().then(
      () => this.#ended(),
      () => this.#ended(),
    )
  }

  /** Resolves when nothing is left to sweep, or sweeping has stopped. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** Ends after the slice that is being written. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  #ended(): void {
    this.#running = undefined
  }

  async #sweep(): Promise<void> {
    while (!this.#stopped && (await this.#commits.write(() => this.#slice()))) {
      // The next slice waits for its own turn of the event loop, beside whatever else is written then.
    }
  }

  /** Removes the newest slice of one log, and the note about it with the last one. False when there is none. */
  #slice(): boolean {
    const log = this.#sql.get<{ conversation: number; seq: number }>(SWEEPABLE_SQL)
    if (log === undefined) return false
    const { conversation, seq } = log
    const keep = Math.max(0, seq - SLICE)
    this.#sql.run('DELETE FROM events WHERE conversation = ? AND seq BETWEEN ? AND ?', conversation, keep + 1, seq)
    if (keep === 0) this.#sql.run('DELETE FROM deleted_logs WHERE conversation = ?', conversation)
    else this.#sql.run('UPDATE deleted_logs SET seq = ? WHERE conversation = ?', keep, conversation)
    return true
  }
}
