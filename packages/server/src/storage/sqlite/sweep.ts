/**
 * Deletes the events of deleted conversations in the background: deleting a conversation is one small transaction, and its log
 * is deleted in slices between other work. The next open continues an interrupted sweep.
 */
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Events deleted in one transaction, which takes a few milliseconds. */
const SLICE = 500

/** A log that no target still needs (invariant O3 in `outbox.ts`). */
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

  /** Starts a sweep unless one is running. A failure ends it until the next start; nothing else depends on it. */
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

  /** Stops the sweep after the current slice. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  #ended(): void {
    this.#running = undefined
  }

  async #sweep(): Promise<void> {
    while (!this.#stopped && (await this.#commits.write(() => this.#slice()))) {
      // Each slice is written in its own turn of the event loop, together with other writes.
    }
  }

  /** Deletes the newest slice of one log, and with the last slice its row in `deleted_logs`. False when there is no log to sweep. */
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
