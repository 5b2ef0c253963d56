/** The targets of webhooks, and the work on deliveries that follows from a change of them. */
import type { NewTarget, StoredTarget, TargetStore } from '../contract/targets.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Outbox } from './outbox.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'

const LIST_SQL = `SELECT name, wants_events AS events, wants_waiting AS waiting, options, sealed, origin, version, updated_at FROM webhook_targets
  WHERE removed_at IS NULL ORDER BY name`
const VERSION_SQL = 'SELECT coalesce(max(version), 0) AS version FROM webhook_targets'
const PUT_SQL = `INSERT INTO webhook_targets (name, wants_events, options, sealed, origin, version, updated_at, wants_waiting)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT (name) DO UPDATE SET wants_events = excluded.wants_events, wants_waiting = excluded.wants_waiting, options = excluded.options, sealed = excluded.sealed,
    origin = excluded.origin, version = excluded.version, updated_at = excluded.updated_at, removed_at = NULL`
const REMOVE_SQL = `UPDATE webhook_targets SET version = ?, removed_at = ?, options = '{}', sealed = ''
  WHERE name = ? AND removed_at IS NULL`
const CONFIGURED_SQL = `SELECT name FROM webhook_targets WHERE origin = 'configuration' AND removed_at IS NULL`

type Row = Omit<StoredTarget, 'events' | 'waiting' | 'sender'> & { events: number; waiting: number }

export class SqliteTargets implements TargetStore {
  readonly #sql: Sql
  readonly #commits: GroupCommit
  readonly #outbox: Outbox
  readonly #sweep: LogSweep

  constructor(sql: Sql, commits: GroupCommit, outbox: Outbox, sweep: LogSweep) {
    this.#sql = sql
    this.#commits = commits
    this.#outbox = outbox
    this.#sweep = sweep
  }

  version(): Promise<number> {
    return this.#commits.read(() => this.#version())
  }

  list(): Promise<StoredTarget[]> {
    return this.#commits.read(() => this.#list())
  }

  async load(): ReturnType<TargetStore['load']> {
    const loaded = await this.#commits.write(() => {
      const targets = this.#list()
      this.#outbox.setTargets(targets)
      this.#outbox.parkUnconfigured()
      return { version: this.#version(), targets }
    })
    this.#sweep.start()
    return loaded
  }

  async put(target: NewTarget): Promise<void> {
    await this.#commits.write(() => this.#put(target))
  }

  add(target: NewTarget): Promise<boolean> {
    return this.#commits.write(() => {
      if (this.#sql.get('SELECT 1 FROM webhook_targets WHERE name = ?', target.name) !== undefined) return false
      this.#put(target)
      return true
    })
  }

  remove(name: string): Promise<boolean> {
    return this.#commits.write(() => this.#remove(name))
  }

  async configure(targets: readonly NewTarget[]): Promise<void> {
    const names = new Set(targets.map(({ name }) => name))
    // Reads first: a start without targets writes nothing.
    const known = await this.#commits.read(() => this.#configured())
    if (names.size === 0 && known.length === 0) return
    await this.#commits.write(() => {
      for (const name of this.#configured()) if (!names.has(name)) this.#remove(name)
      for (const target of targets) this.#put(target)
    })
  }

  #list(): StoredTarget[] {
    return this.#sql
      .all<Row>(LIST_SQL)
      .map((row) => ({ ...row, events: row.events === 1, waiting: row.waiting === 1, sender: null }))
  }

  #version(): number {
    return this.#sql.get<{ version: number }>(VERSION_SQL)?.version ?? 0
  }

  #configured(): string[] {
    return this.#sql.all<{ name: string }>(CONFIGURED_SQL).map(({ name }) => name)
  }

  #put({ name, events, waiting = false, options, sealed, origin }: NewTarget): void {
    this.#sql.run(
      PUT_SQL,
      name,
      events ? 1 : 0,
      options,
      sealed,
      origin,
      this.#version() + 1,
      this.#outbox.now(),
      Number(waiting),
    )
  }

  #remove(name: string): boolean {
    return this.#sql.run(REMOVE_SQL, this.#version() + 1, this.#outbox.now(), name) === 1
  }
}
