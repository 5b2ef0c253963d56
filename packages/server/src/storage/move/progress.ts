/** What a move reports while it works, and at its end. */

/** A table is being moved: `rows` of `of` rows have arrived. */
export type MoveStep = { table: string; rows: number; of: number }

export type MoveReport = {
  /** Moved rows of all tables. */
  rows: number
  conversations: number
  events: number
}

/** Rows between two reports of one table. */
const EVERY = 10_000

export class Progress {
  readonly report: MoveReport = { rows: 0, conversations: 0, events: 0 }
  readonly #tell: (step: MoveStep) => void
  #step: MoveStep = { table: '', rows: 0, of: 0 }
  #told = 0

  constructor(tell: (step: MoveStep) => void) {
    this.#tell = tell
  }

  begin(table: string, of: number): void {
    this.#step = { table, rows: 0, of }
    this.#told = 0
  }

  add(rows: number): void {
    this.#step.rows += rows
    if (this.#step.rows - this.#told >= EVERY && this.#step.rows < this.#step.of) this.#report()
  }

  /** Ends a table. @throws Error when not all rows have arrived */
  end(): void {
    const { table, rows, of } = this.#step
    if (rows !== of) throw new Error(`${rows} of ${of} rows of ${table} arrived`)
    if (of > 0) this.#report()
    this.report.rows += rows
    if (table === 'conversations') this.report.conversations = rows
    if (table === 'events') this.report.events = rows
  }

  #report(): void {
    this.#told = this.#step.rows
    this.#tell({ ...this.#step })
  }
}
