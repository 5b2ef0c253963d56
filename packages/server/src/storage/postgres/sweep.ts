/**
 * Deletes the events of deleted conversations in the background: deleting a conversation is one small transaction, and its log
 * is deleted in slices. The next open continues an interrupted sweep.
 */
import type { Database, Sql } from './database.ts'

/** Events deleted in one transaction. */
const SLICE = 500

/** A log that no target still needs (invariant O3 in `outbox.ts`), and that no other server is sweeping. */
const SWEEPABLE_SQL =
  'SELECT conversation, seq FROM deleted_logs WHERE NOT is_held ORDER BY conversation LIMIT 1 FOR UPDATE SKIP LOCKED'

export class LogSweep {
  readonly #database: Database
  #running: Promise<void> | undefined
  /** True when a log may have become sweepable after the sweep that runs has read the list. */
  #isDue = false
  #stopped = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Starts a sweep unless one is running. A failure ends it until the next start; nothing else depends on it. */
  start(): void {
    this.#isDue = true
    if (this.#stopped || this.#running !== undefined) return
    const ended = () => {
      this.#running = undefined
    }
    this.#running = this.#sweep().then(ended, ended)
  }

  /** Stops the sweep after the current slice. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #sweep(): Promise<void> {
    while (!this.#stopped && this.#isDue) {
      this.#isDue = false
      while (!this.#stopped && (await this.#database.write(slice))) {
        // Each slice is a transaction of its own.
      }
    }
  }
}

/** Deletes the newest slice of one log, and with the last slice its row in `deleted_logs`. False when there is no log to sweep. */
async function slice(sql: Sql): Promise<boolean> {
  const log = await sql.get<{ conversation: number; seq: number }>(SWEEPABLE_SQL)
  if (log === undefined) return false
  const keep = Math.max(0, log.seq - SLICE)
  await sql.run('DELETE FROM events WHERE conversation = $1 AND seq > $2', log.conversation, keep)
  if (keep === 0) await sql.run('DELETE FROM deleted_logs WHERE conversation = $1', log.conversation)
  else await sql.run('UPDATE deleted_logs SET seq = $1 WHERE conversation = $2', keep, log.conversation)
  return true
}
