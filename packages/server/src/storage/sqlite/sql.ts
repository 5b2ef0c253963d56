/** One SQLite connection with a cache of prepared statements. Only this file calls the driver. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

/** Bounds the cache: statement texts are a closed set, except filters with a varying number of values. */
const MAX_STATEMENTS = 256

export class Sql {
  readonly database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  #changed = 0
  #written = 0

  constructor(database: DatabaseSync) {
    this.database = database
  }

  /** Rows written through this connection so far. A difference between two readings shows that work between them has written. */
  get changed(): number {
    return this.#changed
  }

  /** Bytes of texts and binary values written so far, one for each character. */
  get written(): number {
    return this.#written
  }

  /** Runs a write and returns how many rows it changed. */
  run(text: string, ...values: SQLInputValue[]): number {
    for (const value of values) this.#written += lengthOf(value)
    const changes = Number(this.#prepare(text).run(...values).changes)
    this.#changed += changes
    return changes
  }

  /** Runs a write of one row with RETURNING; undefined when it changed none. */
  returning<Row>(text: string, ...values: SQLInputValue[]): Row | undefined {
    const row = this.get<Row>(text, ...values)
    if (row !== undefined) this.#changed += 1
    return row
  }

  /** Runs a write of several rows with RETURNING. */
  returningAll<Row>(text: string, ...values: SQLInputValue[]): Row[] {
    const rows = this.all<Row>(text, ...values)
    this.#changed += rows.length
    return rows
  }

  get<Row>(text: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(text).get(...values) as Row | undefined
  }

  all<Row>(text: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(text).all(...values) as Row[]
  }

  /** As `all`, with each row as an array of its values, which takes half the time of objects. Its texts are those of no other call. */
  arrays<Row>(text: string, ...values: SQLInputValue[]): Row[] {
    const statement = this.#prepare(text)
    statement.setReturnArrays(true)
    return statement.all(...values) as unknown as Row[]
  }

  /** Rows one after another. The statement is used by one caller until its end. */
  iterate<Row>(text: string): Iterable<Row> {
    return this.database.prepare(text).iterate() as Iterable<unknown> as Iterable<Row>
  }

  /** Runs a statement without values or result, such as BEGIN. */
  exec(text: string): void {
    this.#prepare(text).run()
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    if (this.#statements.size >= MAX_STATEMENTS) {
      for (const oldest of this.#statements.keys()) {
        this.#statements.delete(oldest)
        break
      }
    }
    const statement = this.database.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }
}

function lengthOf(value: SQLInputValue): number {
  if (typeof value === 'string') return value.length
  return ArrayBuffer.isView(value) ? value.byteLength : 0
}
