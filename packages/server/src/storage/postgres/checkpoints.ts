/** Checkpoints of files: which tree belongs to which event. */
import type { CheckpointRow, CheckpointStore } from '../contract/checkpoints.ts'
import type { Database, Sql } from './database.ts'
import { owned } from './notes.ts'

const OF = 'conversation = (SELECT n FROM conversations WHERE id = $1)'
const AT_SQL = `SELECT seq, tree FROM checkpoints WHERE ${OF} AND seq <= $2 ORDER BY seq DESC LIMIT 1`
const LIST_SQL = `SELECT seq, tree FROM checkpoints WHERE ${OF} ORDER BY seq`
const PUT_SQL = `INSERT INTO checkpoints (conversation, seq, tree) VALUES ($1, $2, $3)
  ON CONFLICT (conversation, seq) DO UPDATE SET tree = excluded.tree`

export async function insertCheckpoint(sql: Sql, conversation: number, { seq, tree }: CheckpointRow): Promise<void> {
  await sql.run(PUT_SQL, conversation, seq, tree)
}

export function postgresCheckpoints(database: Database): CheckpointStore {
  return {
    at: (id, seq = Number.MAX_SAFE_INTEGER) =>
      database.read(async (sql) => (await sql.get<CheckpointRow>(AT_SQL, id, seq)) ?? null),
    list: (id) => database.read((sql) => sql.all<CheckpointRow>(LIST_SQL, id)),
    put: (id, epoch, checkpoint) =>
      database.write(async (sql) => insertCheckpoint(sql, await owned(sql, { id, epoch }), checkpoint)),
    removeBefore: (id, seq) =>
      database.write(async (sql) => void (await sql.run(`DELETE FROM checkpoints WHERE ${OF} AND seq < $2`, id, seq))),
  }
}
