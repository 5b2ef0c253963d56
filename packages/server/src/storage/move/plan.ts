/**
 * Which column of one store becomes which column of the other one. The tables and columns are those of the two schemas, so what a
 * migration adds to both under one name is moved without a change here.
 */
import { COMPUTED_BY_POSTGRES, COMPUTED_BY_SQLITE } from './computed.ts'

/** The columns of each table, in their order. The value is the type: of PostgreSQL, or empty. */
export type Tables = ReadonlyMap<string, ReadonlyMap<string, string>>

/** A column of both stores. `type`: of PostgreSQL. */
type Twin = { sqlite: string; postgres: string; type: string }

/** A table of both stores. */
export type TablePlan = { table: string; twins: readonly Twin[] }

/** Columns whose names differ; everywhere else `user` is `user_name` in PostgreSQL. */
const RENAMED: Readonly<Record<string, string>> = {
  'deleted_logs.held': 'is_held',
  'keys.rowid': 'n',
  'seal_test.n': 'one',
  'secret_versions.of_user': 'user_name',
}

/** Tables of one store: what is to be computed, what names the schema, and a counter that `counters.ts` moves. */
const SQLITE_TABLES: ReadonlySet<string> = new Set(['event_backfill'])
const POSTGRES_TABLES: ReadonlySet<string> = new Set(['cluster', 'note_counter'])
/**
 * Columns of one store that are not moved: numbers that nothing refers to, the newest attempt of an append, the facts of nodes that have ended,
 * the terms of senders, of which none runs, and places, which `places.ts` fills in.
 */
const SQLITE_COLUMNS: ReadonlySet<string> = new Set(['events.n', 'notes.n'])
const POSTGRES_COLUMNS: ReadonlySet<string> = new Set([
  'bash_events.place_id',
  'conversations.append_id',
  'conversations.taken_from',
  'data_directory.place',
  'deliveries.begun_term',
  'made_workspaces.place',
  'nodes.draining_at',
  'nodes.places',
  'nodes.started_at',
  'nodes.url',
  'nodes.version',
  'owed_releases.place',
  'webhook_targets.sender',
  'webhook_targets.term',
])

/** Tables that others refer to come first, and versions that triggers write come last. */
const FIRST = ['conversations']
const LAST = ['secret_versions']

/**
 * The plan for two schemas.
 * @throws Error for a table or column that would be lost: it has no twin, and no rule says why
 */
export function planOf(sqlite: Tables, postgres: Tables): TablePlan[] {
  const names = [...sqlite.keys()].filter((name) => !SQLITE_TABLES.has(name))
  const lost = [...postgres.keys()].filter((name) => !POSTGRES_TABLES.has(name) && !names.includes(name))
  const plans = [...FIRST, ...names.filter((name) => ![...FIRST, ...LAST].includes(name)), ...LAST].map((table) => {
    const twin = postgres.get(table)
    if (twin === undefined) lost.push(table)
    return twinsOf(table, sqlite.get(table)!, twin ?? new Map(), lost)
  })
  if (lost.length > 0) throw new Error(`tables or columns without a rule for a move: ${lost.join(', ')}`)
  return plans
}

function twinsOf(
  table: string,
  sqlite: ReadonlyMap<string, string>,
  postgres: ReadonlyMap<string, string>,
  lost: string[],
): TablePlan {
  // SQLite does not list the number of a row as a column.
  const own = [...sqlite.keys(), ...(`${table}.rowid` in RENAMED ? ['rowid'] : [])]
  const twins: Twin[] = []
  for (const column of own) {
    const name = RENAMED[`${table}.${column}`] ?? (column === 'user' ? 'user_name' : column)
    const type = postgres.get(name)
    if (isComputed(COMPUTED_BY_SQLITE, table, column) || SQLITE_COLUMNS.has(`${table}.${column}`)) continue
    if (type === undefined) lost.push(`${table}.${column} of SQLite`)
    else if (!isComputed(COMPUTED_BY_POSTGRES, table, name)) twins.push({ sqlite: column, postgres: name, type })
  }
  for (const name of postgres.keys()) {
    const isMoved = twins.some((twin) => twin.postgres === name) || isComputed(COMPUTED_BY_POSTGRES, table, name)
    if (!isMoved && !POSTGRES_COLUMNS.has(`${table}.${name}`)) lost.push(`${table}.${name} of PostgreSQL`)
  }
  return { table, twins }
}

const isComputed = (
  computed: Readonly<Record<string, { columns: readonly string[] }>>,
  table: string,
  column: string,
): boolean => computed[table]?.columns.includes(column) === true
