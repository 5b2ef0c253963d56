/** What belongs to one data directory has its place in PostgreSQL; a SQLite file belongs to one directory as a whole. */
import type { PlaceId } from '../contract/nodes.ts'
import type { Sql as Sqlite } from '../sqlite/sql.ts'
import type { Sql } from '../postgres/database.ts'

/** Columns with the place of a row, besides that of conversations. */
const PLACES: readonly (readonly [table: string, column: string])[] = [
  ['data_directory', 'place'],
  ['made_workspaces', 'place'],
  ['owed_releases', 'place'],
  ['bash_events', 'place_id'],
]
/** Tables whose rows of other places stay out of a SQLite file: they name folders and processes of another machine. */
const OF_ONE_PLACE: ReadonlySet<string> = new Set(['data_directory', 'made_workspaces', 'owed_releases'])

const RECORDS = 200
const CAN_MOVE_SQL = 'UPDATE conversations SET place = NULL WHERE n = ANY($1::bigint[]) AND place = $2'

/** Gives the moved rows their place. Conversations on another agent server can move. */
export async function fillPlaces(target: Sql, place: PlaceId): Promise<void> {
  for (const [table, column] of PLACES) await target.run(`UPDATE ${table} SET ${column} = $1`, place)
  await target.run('UPDATE conversations SET place = $1 WHERE place IS NULL', place)
  type Row = { conversation: number; record: string }
  const page = `SELECT conversation, record FROM records WHERE conversation > $1 ORDER BY conversation LIMIT ${RECORDS}`
  for (let rows = await target.all<Row>(page, 0); rows.length > 0;) {
    const remote = rows.filter(({ record }) => isRemote(record)).map(({ conversation }) => conversation)
    if (remote.length > 0) await target.run(CAN_MOVE_SQL, remote, place)
    rows = await target.all<Row>(page, rows.at(-1)!.conversation)
  }
}

/** In a file, the place of its directory is not named. */
export const clearPlace = (target: Sqlite, place: PlaceId): void =>
  void target.run('UPDATE conversations SET place = NULL WHERE place = ?', place)

/** The condition for rows of a table that are moved into a file of this place, with the place as $1; null: all rows. */
export const placeCondition = (table: string): string | null => (OF_ONE_PLACE.has(table) ? 'place = $1' : null)

/** False also for a damaged record, which no node may take to another machine. */
function isRemote(record: string): boolean {
  try {
    const { workspace } = JSON.parse(record) as { workspace?: { kind?: unknown } }
    return workspace?.kind === 'RemoteWorkspace'
  } catch {
    return false
  }
}
