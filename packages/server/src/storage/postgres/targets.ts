/** The targets of webhooks, and the work on deliveries that follows from a change of them. */
import type { NewTarget, StoredTarget, TargetStore } from '../contract/targets.ts'
import { timeSql } from './clock.ts'
import type { Database, Sql } from './database.ts'
import { lock } from './locks.ts'
import type { Outbox } from './outbox.ts'
import type { LogSweep } from './sweep.ts'

const LIST_SQL = `SELECT name, wants_events AS events, wants_waiting AS waiting, options, sealed, origin, version, updated_at, sender FROM webhook_targets
  WHERE removed_at IS NULL ORDER BY name`
const VERSION_SQL = 'SELECT coalesce(max(version), 0) AS version FROM webhook_targets'
const PUT_SQL = `INSERT INTO webhook_targets (name, wants_events, options, sealed, origin, version, updated_at, wants_waiting)
  VALUES ($1, $2, $3, $4, $5, (SELECT coalesce(max(version), 0) + 1 FROM webhook_targets), ${timeSql('$6')}, $7)
  ON CONFLICT (name) DO UPDATE SET wants_events = excluded.wants_events, wants_waiting = excluded.wants_waiting, options = excluded.options, sealed = excluded.sealed,
    origin = excluded.origin, version = excluded.version, updated_at = excluded.updated_at, removed_at = NULL`
const REMOVE_SQL = `UPDATE webhook_targets SET version = (SELECT max(version) + 1 FROM webhook_targets),
  removed_at = ${timeSql('$1')}, options = '{}', sealed = '' WHERE name = $2 AND removed_at IS NULL`
const CONFIGURED_SQL = `SELECT name FROM webhook_targets WHERE origin = 'configuration' AND removed_at IS NULL`

const versionOf = async (sql: Sql): Promise<number> => (await sql.get<{ version: number }>(VERSION_SQL))?.version ?? 0

const configured = async (sql: Sql): Promise<string[]> =>
  (await sql.all<{ name: string }>(CONFIGURED_SQL)).map(({ name }) => name)

export class PostgresTargets implements TargetStore {
  readonly #database: Database
  readonly #outbox: Outbox
  readonly #sweep: LogSweep

  constructor(database: Database, outbox: Outbox, sweep: LogSweep) {
    this.#database = database
    this.#outbox = outbox
    this.#sweep = sweep
  }

  version(): Promise<number> {
    return this.#database.read(versionOf)
  }

  list(): Promise<StoredTarget[]> {
    return this.#database.read((sql) => sql.all<StoredTarget>(LIST_SQL))
  }

  async load(): ReturnType<TargetStore['load']> {
    const loaded = await this.#change(async (sql) => {
      const targets = await sql.all<StoredTarget>(LIST_SQL)
      await this.#outbox.parkUnconfigured(sql)
      return { version: await versionOf(sql), targets }
    })
    this.#outbox.setTargets(loaded.targets)
    // Commits of the moment between the two had the targets before.
    await this.#database.write((sql) => this.#outbox.parkUnconfigured(sql))
    this.#sweep.start()
    return loaded
  }

  async put(target: NewTarget): Promise<void> {
    await this.#change((sql) => this.#put(sql, target))
  }

  add(target: NewTarget): Promise<boolean> {
    return this.#change(async (sql) => {
      if ((await sql.get('SELECT 1 FROM webhook_targets WHERE name = $1', target.name)) !== undefined) return false
      await this.#put(sql, target)
      return true
    })
  }

  remove(name: string): Promise<boolean> {
    return this.#change((sql) => this.#remove(sql, name))
  }

  async configure(targets: readonly NewTarget[]): Promise<void> {
    const names = new Set(targets.map(({ name }) => name))
    await this.#change(async (sql) => {
      for (const name of await configured(sql)) if (!names.has(name)) await this.#remove(sql, name)
      for (const target of targets) await this.#put(sql, target)
    })
  }

  /** One change at a time, so that versions grow. */
  #change<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.write(async (sql) => {
      await lock(sql, 'targets', [''])
      return work(sql)
    })
  }

  async #put(sql: Sql, { name, events, waiting = false, options, sealed, origin }: NewTarget): Promise<void> {
    await sql.run(PUT_SQL, name, events, options, sealed, origin, this.#outbox.givenTime(), waiting)
  }

  async #remove(sql: Sql, name: string): Promise<boolean> {
    return (await sql.run(REMOVE_SQL, this.#outbox.givenTime(), name)) === 1
  }
}
