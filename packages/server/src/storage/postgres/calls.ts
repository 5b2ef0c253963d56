/** What the store knows of the records of calls outside of it: see `CallStore`. */
import type { CallStore, DataDirectory } from '../contract/directory.ts'
import type { PlaceId } from '../contract/nodes.ts'
import type { Database } from './database.ts'
import { packedId } from './event-rows.ts'

const DIRECTORY_SQL = 'SELECT ledger, mark, next_mark AS "nextMark" FROM data_directory WHERE place = $1'
const SET_DIRECTORY_SQL = `INSERT INTO data_directory (place, ledger, mark, next_mark) VALUES ($1, $2, $3, $4)
  ON CONFLICT (place) DO UPDATE SET ledger = excluded.ledger, mark = excluded.mark, next_mark = excluded.next_mark`
/** $2: also conversations that can move. Notes of their calls are missing in a store that was restored. */
const UNPROVEN_SQL = `UPDATE conversations SET unproven_seq = seq WHERE unproven_seq < seq AND (place = $1 OR $2 AND place IS NULL)`
const UNPROVEN_OPEN_SQL = 'UPDATE bash_events SET is_unproven = true WHERE is_open AND place_id = $1'
const UNPROVEN_BASH_SQL = 'SELECT id FROM bash_events WHERE is_open AND is_unproven AND place_id = $1'
const PROVEN_SQL = `SELECT encode(id, 'hex') AS id FROM events WHERE conversation = $1 AND seq > $2 AND id = ANY($3::bytea[])`

export function postgresCalls(database: Database, place: PlaceId): CallStore {
  return {
    directory: () => database.read(async (sql) => (await sql.get<DataDirectory>(DIRECTORY_SQL, place)) ?? null),
    setDirectory: ({ ledger, mark, nextMark }, isComplete) =>
      database.write(async (sql) => {
        // A directory that this store does not know yet says nothing about the store.
        const isKnown = (await sql.get(DIRECTORY_SQL, place)) !== undefined
        await sql.run(SET_DIRECTORY_SQL, place, ledger, mark, nextMark)
        if (isComplete) return
        await sql.run(UNPROVEN_SQL, place, isKnown)
        await sql.run(UNPROVEN_OPEN_SQL, place)
      }),
    unproven: (conversation, calls) =>
      database.read(async (sql) => {
        const row = await sql.get<{ n: number; unproven_seq: number }>(
          'SELECT n, unproven_seq FROM conversations WHERE id = $1',
          conversation,
        )
        if (row === undefined) {
          const unproven = new Set((await sql.all<{ id: string }>(UNPROVEN_BASH_SQL, place)).map(({ id }) => id))
          return new Set(calls.filter((id) => unproven.has(id)))
        }
        if (row.unproven_seq === 0) return new Set<string>()
        // A call that is no event of its own is a part of one.
        const later = await sql.all<{ id: string }>(PROVEN_SQL, row.n, row.unproven_seq, calls.map(packedId))
        const proven = new Set(later.map(({ id }) => id))
        return new Set(calls.filter((id) => !proven.has(packedId(id).toString('hex'))))
      }),
  }
}
