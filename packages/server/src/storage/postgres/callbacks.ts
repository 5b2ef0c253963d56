/** Completion callbacks that are owed. */
import type { CallbackStore, OwedCallback } from '../contract/callbacks.ts'
import type { Database } from './database.ts'
import { LIVE_SQL } from './liveness.ts'
import type { Claimant } from './owning.ts'

const COLUMNS = 'id, conversation_id, is_open, json'
const PUT_SQL = `INSERT INTO callbacks (${COLUMNS}, node) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id) DO UPDATE SET is_open = excluded.is_open, json = excluded.json, node = excluded.node`
const OPEN_SQL = 'SELECT id FROM callbacks WHERE conversation_id = $1 AND is_open AND NOT is_parked LIMIT 1'
const BEGIN_SQL = `UPDATE callbacks SET node = $2 WHERE id = (${OPEN_SQL} FOR UPDATE) RETURNING id`
const END_SQL = 'UPDATE callbacks SET is_open = $2, json = $3, node = $4 WHERE id = $1 AND is_open AND NOT is_parked'
/**
 * $1 the node, $2 its place, $3 whether it may take over. Rows that another node is taking are left to it. A node that has ended does not get
 * its number back, so what one node has taken belongs to a live one for the next.
 */
const TAKE_SQL = `UPDATE callbacks SET node = $1 WHERE id IN (
    SELECT id FROM callbacks o WHERE NOT is_parked
      AND (node IS NULL OR node <> $1 AND (node IN (SELECT n FROM nodes WHERE $2 = ANY(places)) OR $3 AND node NOT IN (${LIVE_SQL})))
      AND NOT (is_open AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = o.conversation_id
        AND (c.wants_owner OR c.status IN ('running', 'waiting_for_confirmation'))))
    FOR UPDATE OF o SKIP LOCKED)
  RETURNING ${COLUMNS}`
const OF_NODE_SQL = 'SELECT 1 FROM callbacks WHERE id = $1 AND node = $2 AND NOT is_parked'
const OWED_SQL = `SELECT ${COLUMNS} FROM callbacks WHERE NOT is_parked ORDER BY id`

export function postgresCallbacks(database: Database, claimant: Claimant): CallbackStore {
  return {
    begin: ({ id, conversation_id, is_open, json }, by) =>
      database.write(async (sql) => {
        const open = await sql.get<{ id: string }>(BEGIN_SQL, conversation_id, by)
        if (open === undefined) await sql.run(PUT_SQL, id, conversation_id, is_open, json, by)
        return open?.id ?? id
      }),
    openOf: (id) => database.read(async (sql) => (await sql.get<{ id: string }>(OPEN_SQL, id))?.id ?? null),
    end: ({ id, is_open, json }, by) =>
      database.write(async (sql) => (await sql.run(END_SQL, id, is_open, json, by)) > 0),
    put: ({ id, conversation_id, is_open, json }, by) =>
      database.write(async (sql) => void (await sql.run(PUT_SQL, id, conversation_id, is_open, json, by))),
    take: async (by) => {
      const { place, mayTakeOver } = claimant
      const taken = await database.write((sql) => sql.all<OwedCallback>(TAKE_SQL, by, place, mayTakeOver()))
      return taken.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    isOf: (id, node) => database.read(async (sql) => (await sql.get(OF_NODE_SQL, id, node)) !== undefined),
    owed: () => database.read((sql) => sql.all<OwedCallback>(OWED_SQL)),
    park: (id) =>
      database.write(async (sql) => void (await sql.run('UPDATE callbacks SET is_parked = true WHERE id = $1', id))),
    remove: (id) => database.write(async (sql) => void (await sql.run('DELETE FROM callbacks WHERE id = $1', id))),
  }
}
