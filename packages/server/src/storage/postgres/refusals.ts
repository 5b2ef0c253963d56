/** Why appends changed nothing. */
import { ParleyError } from '@parley/protocol'
import type { Member } from './append-sql.ts'
import type { Sql } from './database.ts'

const ROWS_SQL = `SELECT c.id, c.n, c.seq, c.epoch, c.append_id FROM conversations c WHERE c.id = ANY($1::text[])`
const VERSIONS_SQL = 'SELECT user_name, n FROM secret_versions WHERE user_name = ANY($1::text[])'
const IDS_SQL = `SELECT encode(id, 'hex') AS id FROM events WHERE conversation = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq`

type Row = { n: number; id: string; seq: number; epoch: number; append_id: string | null }

/** The reason for each refused member; none for one that an earlier attempt has stored. */
export async function refusals(sql: Sql, members: readonly Member[]): Promise<Map<Member, ParleyError>> {
  const ids = members.map(({ append }) => append.id)
  const users = members.flatMap(({ append }) => (append.masked === undefined ? [] : [append.masked.user]))
  const rows = new Map((await sql.all<Row>(ROWS_SQL, ids)).map((row) => [row.id, row]))
  const stored = users.length === 0 ? [] : await sql.all<{ user_name: string; n: number }>(VERSIONS_SQL, users)
  const versions = new Map(stored.map(({ user_name, n }) => [user_name, n]))
  const reasons = new Map<Member, ParleyError>()
  for (const member of members) {
    const row = rows.get(member.append.id)
    if (row !== undefined && (await isStored(sql, member, row))) continue
    reasons.set(member, refusal(member, row, versions))
  }
  return reasons
}

/** True when an append is the newest one of the log: its answer was lost, and it is repeated (S6). */
async function isStored(sql: Sql, { append, attempt, rows }: Member, row: Row): Promise<boolean> {
  const { epoch, expectedSeq } = append
  if (row.append_id === attempt) return true
  if (rows.length === 0 || row.epoch !== epoch || row.seq !== expectedSeq + rows.length) return false
  const stored = await sql.all<{ id: string }>(IDS_SQL, row.n, expectedSeq + 1, row.seq)
  return stored.length === rows.length && rows.every(({ id }, index) => stored[index]!.id === id.toString('hex'))
}

function refusal({ append }: Member, row: Row | undefined, versions: ReadonlyMap<string, number>): ParleyError {
  const { id, epoch, expectedSeq, masked } = append
  const conflict = (reason: string, message: string, details: object) =>
    new ParleyError('conflict', message, { details: { reason, conversation_id: id, ...details } })
  if (masked !== undefined && masked.version !== (versions.get(masked.user) ?? 0))
    return conflict('secrets', `secrets were changed after the events of ${id} were masked; mask them again`, {})
  if (row === undefined)
    return new ParleyError('not_found', `no conversation ${id}`, { details: { conversation_id: id } })
  const details = { seq: row.seq, epoch: row.epoch }
  if (row.epoch !== epoch) {
    const message = `conversation ${id} has another owner: epoch ${epoch} was replaced by ${row.epoch}; own it again`
    return conflict('epoch', message, details)
  }
  const message = `conversation ${id} is at seq ${row.seq}, not ${expectedSeq}; read the events between and retry`
  return conflict('seq', message, details)
}
