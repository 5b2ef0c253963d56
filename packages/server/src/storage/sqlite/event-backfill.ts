/**
 * Fills the computed columns of events that an older version stored, in slices between other work. The table `event_backfill` has
 * the range of rows that is left; the next open continues it. Until a row is filled, a search reads its event.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isComplete } from '../shared/outline.ts'
import { fillRow } from './event-columns.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

/** Milliseconds of work in one transaction, and of rest after it, so that a large store is filled at a quarter of the time. */
const SLICE_MS = 8
const REST_MS = 24
/** Rows read at once; events may be large. */
const ROWS = 16

type Row = { n: number; conversation: number; event: string; flags: number | null }

export class EventBackfill {
  readonly #sql: Sql
  readonly #commits: GroupCommit
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(sql: Sql, commits: GroupCommit) {
    this.#sql = sql
    this.#commits = commits
  }

  /** Starts filling. A failure ends it until the next open: a search needs no filled row. */
  start(): void {
    this.#running = this.#fill().catch(() => undefined)
  }

  /** Resolves when every row is filled, or filling has stopped. */
  async idle(): Promise<void> {
    await this.#running
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #fill(): Promise<void> {
    const { signal } = this.#stopping
    if (this.#sql.get('SELECT 1 FROM event_backfill LIMIT 1') === undefined) return
    while (!signal.aborted && (await this.#commits.write(() => this.#slice()))) {
      await sleep(REST_MS, undefined, { signal, ref: false })
    }
  }

  /** Fills rows for `SLICE_MS`. False when none is left. */
  #slice(): boolean {
    const end = performance.now() + SLICE_MS
    const left = this.#sql.get<{ next: number; last: number }>('SELECT next, last FROM event_backfill')
    if (left === undefined) return false
    let { next } = left
    while (performance.now() < end) {
      const rows = this.#sql.all<Row>(
        'SELECT n, conversation, event, flags FROM events WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ?',
        next,
        left.last,
        ROWS,
      )
      if (rows.length === 0) {
        this.#sql.run('DELETE FROM event_backfill')
        return false
      }
      for (const row of rows) if (!isComplete(row)) fillRow(this.#sql, row)
      next = rows.at(-1)!.n + 1
    }
    this.#sql.run('UPDATE event_backfill SET next = ?', next)
    return true
  }
}
