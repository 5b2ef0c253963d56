/**
 * Connections to one PostgreSQL database.
 *
 * Invariants
 *   P1. A transaction is repeated only when the server has rolled it back, or when its connection ended before COMMIT was sent.
 *   P2. A connection whose state is not known is closed, not used again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError } from '@parley/protocol'
import pg from 'pg'
import { explained, isLost, isRepeatable, QueryFailure } from './failures.ts'
import { decodeText, encodeText } from './text.ts'

const MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
/** Longest time of one statement. The client gives up a little later, for a server that does not answer at all. */
const STATEMENT_TIMEOUT_MS = 30_000
const ANSWER_TIMEOUT_MS = 33_000
/**
 * A process that is frozen, or cut off, inside of a transaction keeps its locks for this long: no longer than the shortest lease of a node, and less
 * than a statement waits that needs them. A process that was only slow repeats its transaction.
 */
const IDLE_IN_TRANSACTION_MS = 3_000
/** Repetitions of a transaction that the server has rolled back, with a random wait up to the number of milliseconds. */
const MAX_REPETITIONS = 8
const REPEAT_WITHIN_MS = 20
/** Milliseconds before each further attempt after a lost connection. */
const RECONNECT_AFTER_MS: readonly number[] = [50, 250, 1_000]

/** Settings of a session that a role or a database may have set otherwise. `synchronous_commit`: only off is unsafe. */
const SESSION_SQL = `SELECT set_config('search_path', 'parley', false), set_config('TimeZone', 'UTC', false),
  set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', false),
  set_config('idle_in_transaction_session_timeout', '${IDLE_IN_TRANSACTION_MS}', false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
    ELSE current_setting('synchronous_commit') END, false)`

export type SqlValue =
  | string
  | number
  | boolean
  | null
  | Buffer
  | readonly (string | number | boolean | null | Buffer)[]

/** Statements on one connection, one after another. A text is prepared once on each connection, so texts must be a closed set. */
export type Sql = {
  /** Runs a statement and returns how many rows it changed. */
  run(text: string, ...values: SqlValue[]): Promise<number>
  /** The first row; undefined without one. */
  get<Row>(text: string, ...values: SqlValue[]): Promise<Row | undefined>
  all<Row>(text: string, ...values: SqlValue[]): Promise<Row[]>
  /** Runs several statements without values, which are not prepared. */
  script(text: string): Promise<void>
}

const BIGINT = 20
const TEXT = 25
/** Numbers of the schema are below 2^53. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [BIGINT, Number],
  [TEXT, decodeText],
])
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS.get(oid) ?? (pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
}

const encoded = (value: SqlValue): unknown => {
  if (typeof value === 'string') return encodeText(value)
  return Array.isArray(value)
    ? value.map((item: unknown) => (typeof item === 'string' ? encodeText(item) : item))
    : value
}

/** Host, port and name of a database, as messages show them. */
export function nameOf(url: string): string {
  const { host, port, database } = new pg.Client({ connectionString: url })
  return `${host}:${port}/${database ?? ''}`
}

export class Database {
  /** Host, port and name; without user and password. */
  readonly name: string
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()
  readonly #active = new Set<Promise<unknown>>()
  #isClosed = false

  /** @param url connection address; connects on first use */
  constructor(url: string) {
    this.name = nameOf(url)
    this.#pool = new pg.Pool({
      connectionString: url,
      application_name: 'parley',
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
      keepAlive: true,
      types,
      // The pool waits for the promise, which its types do not say.
      // oxlint-disable-next-line typescript/no-misused-promises
      onConnect: async (client) => {
        // The end of a connection fails the statement that waits for it, or the next one.
        client.on('error', () => undefined)
        await client.query(SESSION_SQL)
      },
    })
    // An idle connection that ends is removed by the pool; the next statement opens another one.
    this.#pool.on('error', () => undefined)
  }

  /**
   * Runs reads outside of any transaction; `work` may run several times.
   * @throws ParleyError `unavailable`; whatever `work` throws
   */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#tracked(() =>
      this.#repeated(
        () => this.#plain(work),
        () => true,
      ),
    )
  }

  /**
   * Runs `work` in one transaction and resolves with its result once that is durable. `work` may run several times, all but the last time
   * without effect.
   * @throws ParleyError `unavailable`: the database cannot be reached, or the connection ended during COMMIT, and then the outcome is
   * unknown; whatever `work` throws, and nothing is changed then.
   */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const progress = { isCommitting: false }
    return this.#tracked(() =>
      this.#repeated(
        () => this.#transaction(work, progress),
        () => !progress.isCommitting,
      ),
    )
  }

  /** Runs `work` once, in a transaction or outside of one. @throws QueryFailure; whatever `work` throws */
  once<T>(work: (sql: Sql) => Promise<T>, { inTransaction }: { inTransaction: boolean }): Promise<T> {
    return inTransaction ? this.#transaction(work, { isCommitting: false }) : this.#plain(work)
  }

  /** Refuses later calls, and resolves when those that run have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    while (this.#active.size > 0) await Promise.allSettled(this.#active)
    await this.#pool.end()
  }

  /** The error in words of the store. */
  explained(error: unknown): unknown {
    return explained(error, this.name)
  }

  closedError(): ParleyError {
    return new ParleyError('unavailable', `database ${this.name} is closed`, { details: { store: this.name } })
  }

  /** Keeps the connections open until `start` has settled. */
  #tracked<T>(start: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(this.closedError())
    const running = start()
    const settled: Promise<unknown> = running.then(
      () => this.#active.delete(settled),
      () => this.#active.delete(settled),
    )
    this.#active.add(settled)
    return running
  }

  /** Repeats an attempt after a rollback by the server, and after a lost connection where `mayRepeat` says so (P1). */
  async #repeated<T>(attempt: () => Promise<T>, mayRepeat: () => boolean): Promise<T> {
    for (let [repetitions, losses] = [0, 0]; ;) {
      try {
        return await attempt()
      } catch (error) {
        const wait = RECONNECT_AFTER_MS[losses]
        if (isRepeatable(error) && repetitions < MAX_REPETITIONS) {
          repetitions += 1
          await sleep(Math.random() * REPEAT_WITHIN_MS)
        } else if (isLost(error) && mayRepeat() && wait !== undefined) {
          losses += 1
          await sleep(wait)
        } else throw this.explained(error)
      }
    }
  }

  async #plain<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    let failure: unknown
    try {
      return await work(this.#sqlOf(client))
    } catch (error) {
      failure = error
      throw error
    } finally {
      client.release(isLost(failure))
    }
  }

  async #transaction<T>(work: (sql: Sql) => Promise<T>, progress: { isCommitting: boolean }): Promise<T> {
    progress.isCommitting = false
    const client = await this.#connect()
    const sql = this.#sqlOf(client)
    let isUnknown = false
    try {
      await sql.run('BEGIN')
      const value = await work(sql)
      progress.isCommitting = true
      await sql.run('COMMIT')
      return value
    } catch (error) {
      isUnknown =
        isLost(error) ||
        !(await sql.run('ROLLBACK').then(
          () => true,
          () => false,
        ))
      throw error
    } finally {
      client.release(isUnknown)
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw new QueryFailure(error)
    }
  }

  #sqlOf(client: pg.PoolClient): Sql {
    const ask = async (question: pg.QueryConfig) => {
      try {
        return await client.query(question)
      } catch (error) {
        throw new QueryFailure(error)
      }
    }
    const query = (text: string, values: readonly SqlValue[]) =>
      ask({ name: this.#nameOf(text), text, values: values.map(encoded) })
    return {
      run: async (text, ...values) => (await query(text, values)).rowCount ?? 0,
      get: async <Row>(text: string, ...values: SqlValue[]) => (await query(text, values)).rows[0] as Row | undefined,
      all: async <Row>(text: string, ...values: SqlValue[]) => (await query(text, values)).rows as Row[],
      script: async (text) => void (await ask({ text })),
    }
  }

  /** Name of the prepared statement of a text. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `s${this.#names.size + 1}`
    this.#names.set(text, name)
    return name
  }
}
