/** Creates, finds, lists and deletes the rows of conversations. */
import type { ConversationId } from '@parley/protocol'
import type {
  CachedState,
  ConversationQuery,
  ConversationRow,
  ConversationSort,
  ConversationStore,
  NewConversation,
  OutboxDraft,
  OwedRelease,
  SealedJson,
  WorkspaceChoice,
} from '../contract/conversations.ts'
import type { PlaceId } from '../contract/nodes.ts'
import { Cursors } from '../shared/cursors.ts'
import { bytesOfFiles } from '../shared/file-bytes.ts'
import type { FeedListeners } from '../shared/feed-listeners.ts'
import { requireDense } from '../shared/dense.ts'
import { countOf } from '../shared/notices.ts'
import { type Parent, treeOf } from '../shared/roots.ts'
import { wantsOwnerAfter } from '../shared/wants-owner.ts'
import { insertCheckpoint } from './checkpoints.ts'
import type { Database, Sql, SqlValue } from './database.ts'
import { bytesOf, type EventRow, eventRow, insertEvents, packedId } from './event-rows.ts'
import { noteChange, raiseFeeds } from './feed.ts'
import { insertFile } from './files.ts'
import { lock } from './locks.ts'
import type { Outbox } from './outbox.ts'
import type { LogSweep } from './sweep.ts'
import { COLUMNS } from './row-columns.ts'
import { countBytes } from './usage.ts'
import { namedIn } from './workspaces.ts'

export const ROWS = `SELECT ${COLUMNS} FROM conversations c JOIN records r ON r.conversation = c.n`

const GET_SQL = `${ROWS} WHERE c.id = $1`
const GET_MANY_SQL = `${ROWS} WHERE c.id = ANY($1::text[])`
const OWNER_SQL = `SELECT owner FROM (
    SELECT owner, 1 AS rank FROM conversations WHERE id = $1 UNION ALL SELECT owner, 2 FROM deleted_ids WHERE id = $1
  ) owners ORDER BY rank LIMIT 1`
const HOLDERS_SQL = 'SELECT c.id, c.owner FROM events e JOIN conversations c ON c.n = e.conversation WHERE e.id = $1'
/** Children of the same owner only: no user sees the conversations of another one. */
const CHILDREN_SQL = `SELECT id FROM conversations WHERE parent_conversation_id = $1
  AND owner = (SELECT owner FROM conversations WHERE id = $1) ORDER BY id`
const STATES_SQL = `SELECT c.id, s.seq, s.json FROM conversations c JOIN states s ON s.conversation = c.n
  WHERE c.id = ANY($1::text[])`
const CACHE_STATE_SQL = `INSERT INTO states (conversation, seq, json)
  SELECT n, seq, $3 FROM conversations WHERE id = $1 AND seq = $2 FOR NO KEY UPDATE
  ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, json = excluded.json`
const PUT_STATE_SQL = `INSERT INTO states (conversation, seq, json) VALUES ($1, $2, $3)
  ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, json = excluded.json`
/** The newest node of the place is the one that crashed: the server that counts has no number yet. */
const COUNT_CRASH_SQL = `INSERT INTO crashes (conversation, count)
  SELECT c.n, 1 FROM conversations c, (SELECT max(n) AS n FROM nodes WHERE $1 = ANY(places)) crashed
  WHERE c.wants_owner AND (c.node = crashed.n OR c.taken_from = crashed.n)
  ON CONFLICT (conversation) DO UPDATE SET count = crashes.count + 1`
const MARK_RESTORED_SQL = `INSERT INTO restored_runs (conversation, backup_at)
  SELECT n, $1 FROM conversations WHERE wants_owner AND (place IS NULL OR place = $2)
  ON CONFLICT (conversation) DO UPDATE SET backup_at = excluded.backup_at`
const NEXT_RECORD_SQL =
  'SELECT conversation, record FROM records WHERE conversation > $1 ORDER BY conversation LIMIT 1 FOR UPDATE'
const SET_RECORD = 'SET record = $1, working_dir = $2, worktree_source = $3'
const INSERT_SQL = `INSERT INTO conversations
    (id, owner, created_at, updated_at, seq, bytes, epoch, node, status, parent_conversation_id, notified, wants_owner, root, place)
  VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING RETURNING n`
/** The lock holds a claim of the root back, which would leave out the new sub-agent, and no append. */
const PARENT_SQL = `SELECT coalesce(root, id) AS root, place, node FROM conversations WHERE id = $1 FOR KEY SHARE`
const INSERT_RECORD_SQL =
  'INSERT INTO records (conversation, record, working_dir, worktree_source) VALUES ($1, $2, $3, $4)'
/** Its release would end the processes of a new conversation; files and notifications of another owner's may still exist. */
const IS_TAKEN_SQL = `SELECT 1 FROM owed_releases WHERE id = $1
  UNION ALL SELECT 1 FROM deleted_ids WHERE id = $1 AND owner <> $2 LIMIT 1`
const OWE_SQL = `INSERT INTO owed_releases (id, owner, record, workspace, place)
  SELECT c.id, c.owner, r.record, $2, coalesce(c.place, $3) FROM conversations c JOIN records r ON r.conversation = c.n WHERE c.id = $1
  ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, record = excluded.record, workspace = excluded.workspace,
    place = excluded.place`
const OWED_SQL = 'SELECT id, owner, record, workspace FROM owed_releases WHERE place = $1'
const OWES_SQL = 'SELECT 1 FROM owed_releases WHERE owner = $1 LIMIT 1'
const REMEMBER_ID_SQL = `INSERT INTO deleted_ids (id, owner) VALUES ($1, $2)
  ON CONFLICT (id) DO UPDATE SET owner = excluded.owner`
const FILE_BYTES_SQL = 'SELECT owner, file_bytes FROM conversations WHERE id = $1 FOR UPDATE'
const DELETE_SQL =
  'DELETE FROM conversations WHERE id = $1 RETURNING n, seq, notified, owner, bytes + file_bytes AS bytes'

export const SORT_COLUMN = {
  CREATED_AT: 'created_at',
  CREATED_AT_DESC: 'created_at',
  UPDATED_AT: 'updated_at',
  UPDATED_AT_DESC: 'updated_at',
} as const satisfies Record<ConversationSort, string>

/**
 * One page in index order; rows of the same time are in the order of creation. The values are the owner, the limit, the status and the
 * place, where they are given.
 */
export function pageSql(select: string, sort: ConversationSort, hasStatus: boolean, hasPlace: boolean): string {
  const column = SORT_COLUMN[sort]
  const descends = sort.endsWith('_DESC')
  const order = descends ? 'DESC' : 'ASC'
  const status = hasStatus ? ' AND c.status = $3' : ''
  const at = hasStatus ? 4 : 3
  const place = hasPlace ? ` AND (c.${column}, c.n) ${descends ? '<=' : '>='} ($${at}, $${at + 1})` : ''
  return `${select} c.owner = $1${status}${place} ORDER BY c.${column} ${order}, c.n ${order} LIMIT $2`
}

type Records = Omit<ConversationStore, 'own' | 'claim' | 'holder' | 'orphans' | 'wanting' | 'release' | 'append'>

export function postgresRecords(
  database: Database,
  sweep: LogSweep,
  outbox: Outbox,
  { place, feeds }: { place: PlaceId; feeds: FeedListeners },
): Records {
  const cursors = new Cursors()
  return {
    create: async (conversation) => {
      const events = conversation.events ?? []
      requireDense(0, events)
      const rows = events.map(eventRow)
      const bytes = bytesOf(rows) + bytesOfFiles(conversation.files ?? [])
      const isCreated = await createOnce(database, outbox, conversation, { rows, bytes })
      if (!isCreated) return 'exists'
      outbox.announceCommit(conversation.id, conversation.outbox, rows.length)
      feeds.changed(conversation.owner)
      return 'created'
    },
    get: (id) => database.read(async (sql) => (await sql.get<ConversationRow>(GET_SQL, id)) ?? null),
    ownerOf: (id) => database.read(async (sql) => (await sql.get<{ owner: string }>(OWNER_SQL, id))?.owner ?? null),
    holders: (event) =>
      database.read((sql) => sql.all<Pick<ConversationRow, 'id' | 'owner'>>(HOLDERS_SQL, packedId(event))),
    getMany: (ids) =>
      database.read(async (sql) => {
        const rows = new Map((await sql.all<ConversationRow>(GET_MANY_SQL, ids)).map((row) => [row.id, row]))
        return ids.map((id) => rows.get(id) ?? null)
      }),
    search: (query) => database.read((sql) => search(sql, cursors, query)),
    count: (owner, status) =>
      database.read(async (sql) => {
        const text = `SELECT count(*) AS count FROM conversations WHERE owner = $1${status === undefined ? '' : ' AND status = $2'}`
        const values = status === undefined ? [owner] : [owner, status]
        return (await sql.get<{ count: number }>(text, ...values))?.count ?? 0
      }),
    children: (id) => database.read((sql) => idsOf(sql, CHILDREN_SQL, id)),
    states: (ids) =>
      database.read(async (sql) => {
        const rows = await sql.all<CachedState & { id: ConversationId }>(STATES_SQL, ids)
        const states = new Map(rows.map(({ id, ...state }) => [id, state]))
        return ids.map((id) => states.get(id) ?? null)
      }),
    cacheState: (id, { seq, json }) =>
      database.write(async (sql) => void (await sql.run(CACHE_STATE_SQL, id, seq, json))),
    countCrash: () => database.write(async (sql) => void (await sql.run(COUNT_CRASH_SQL, place))),
    markRestored: (backupAt) =>
      database.write(async (sql) => {
        await sql.run('DELETE FROM made_workspaces WHERE place = $1', place)
        await raiseFeeds(sql)
        return sql.run(MARK_RESTORED_SQL, backupAt, place)
      }),
    changeRecords: (change) => database.write((sql) => changeRecords(sql, change)),
    countFiles: (id, bytes) => database.write((sql) => countFilesNow(sql, id, bytes)),
    owedReleases: () => database.read((sql) => sql.all<OwedRelease>(OWED_SQL, place)),
    owesReleases: (owner) => database.read(async (sql) => (await sql.get(OWES_SQL, owner)) !== undefined),
    released: (id) =>
      database.write(async (sql) => void (await sql.run('DELETE FROM owed_releases WHERE id = $1', id))),
    delete: async (id, drafts = [], workspace = 'keep') => {
      const owner = await database.write((sql) => deleteNow(sql, outbox, id, drafts, { workspace, place }))
      if (owner === null) return false
      outbox.announceCommit(id, drafts, 0, true)
      feeds.changed(owner)
      sweep.start()
      return true
    },
  }
}

const idsOf = async (sql: Sql, text: string, ...values: SqlValue[]): Promise<ConversationId[]> =>
  (await sql.all<{ id: ConversationId }>(text, ...values)).map(({ id }) => id)

/** The first events of a conversation, and the bytes of its events and files. */
type Content = { rows: readonly EventRow[]; bytes: number }

/** The id is taken: what the transaction has written is rolled back. */
const TAKEN = Symbol('taken')

async function createOnce(
  database: Database,
  outbox: Outbox,
  conversation: NewConversation,
  content: Content,
): Promise<boolean> {
  try {
    await database.write((sql) => createNow(sql, outbox, conversation, content))
    return true
  } catch (error) {
    if (error === TAKEN) return false
    throw error
  }
}

/** Inserts row, record and first events. @throws TAKEN */
async function createNow(sql: Sql, outbox: Outbox, row: NewConversation, { rows, bytes }: Content): Promise<void> {
  const { id, owner, created_at, updated_at, node, status, parent_conversation_id, record } = row
  const isNotified = outbox.targets.length > 0
  if (isNotified) await lock(sql, 'lane', [id])
  const drafts = isNotified ? (row.outbox ?? []) : []
  const notified = isNotified ? await outbox.lastSequence(sql, id) : 0
  const parent = row.isSubAgent === true ? await sql.get<Parent>(PARENT_SQL, parent_conversation_id) : undefined
  const { root, place } = treeOf(row, parent)
  const values = [
    id,
    owner,
    created_at,
    updated_at,
    rows.length,
    bytes,
    node,
    status,
    parent_conversation_id,
    notified + countOf(drafts),
    wantsOwnerAfter(row),
    root,
    place,
  ]
  const made = await sql.get<{ n: number }>(INSERT_SQL, ...values)
  // The second question comes after the insertion, which waits for a deletion of the same id that is under way.
  if (made === undefined || (await sql.get(IS_TAKEN_SQL, id, owner)) !== undefined) throw TAKEN
  await sql.run(INSERT_RECORD_SQL, made.n, record, ...namedIn(record))
  await insertEvents(sql, made.n, rows)
  for (const file of row.files ?? []) await insertFile(sql, made.n, file)
  for (const checkpoint of row.checkpoints ?? []) await insertCheckpoint(sql, made.n, checkpoint)
  if (row.state !== undefined) await sql.run(PUT_STATE_SQL, made.n, row.state.seq, row.state.json)
  if (rows.length > 0) await outbox.follow(sql, made.n, id, 0)
  await outbox.write(sql, id, drafts, notified)
  await noteChange(sql, owner, id)
  await countBytes(sql, owner, bytes)
}

async function search(sql: Sql, cursors: Cursors, query: ConversationQuery) {
  const { owner, status, sort, limit, from } = query
  const column = SORT_COLUMN[sort]
  const placeOf = (id: ConversationId) =>
    sql.get<{ at: string; n: number }>(
      `SELECT ${column} AS at, n FROM conversations WHERE id = $1 AND owner = $2`,
      id,
      owner,
    )
  const place = from === undefined ? undefined : (cursors.recall(query, from) ?? (await placeOf(from)))
  const values: SqlValue[] = [owner, limit + 1]
  if (status !== undefined) values.push(status)
  if (place !== undefined) values.push(place.at, place.n)
  const text = pageSql(`${ROWS} WHERE`, sort, status !== undefined, place !== undefined)
  const found = await sql.all<ConversationRow>(text, ...values)
  const items = found.slice(0, limit)
  const following = found[limit]
  if (following === undefined) return { items, next: null }
  const n = (await placeOf(following.id))?.n ?? 0
  cursors.remember(query, following.id, { at: following[column], n, rank: 0 })
  return { items, next: following.id }
}

/** One record at a time, because together they may exceed the memory. */
async function changeRecords(sql: Sql, change: (record: SealedJson) => SealedJson): Promise<void> {
  const next = (after: number) => sql.get<{ conversation: number; record: SealedJson }>(NEXT_RECORD_SQL, after)
  for (let row = await next(0); row !== undefined; row = await next(row.conversation)) {
    const changed = change(row.record)
    if (changed === row.record) continue
    await sql.run(
      `UPDATE records ${SET_RECORD} WHERE conversation = $4`,
      changed,
      ...namedIn(changed),
      row.conversation,
    )
  }
}

async function countFilesNow(sql: Sql, id: ConversationId, bytes: number): Promise<void> {
  const row = await sql.get<{ owner: string; file_bytes: number }>(FILE_BYTES_SQL, id)
  if (row === undefined) return
  await sql.run('UPDATE conversations SET file_bytes = $1 WHERE id = $2', bytes, id)
  await countBytes(sql, row.owner, bytes - row.file_bytes)
}

/** Deletes the row and writes the last notifications; the log is left to the sweep. Returns the owner; null: there is no such row. */
async function deleteNow(
  sql: Sql,
  outbox: Outbox,
  id: ConversationId,
  drafts: readonly OutboxDraft[],
  { workspace, place }: { workspace: WorkspaceChoice; place: PlaceId },
): Promise<string | null> {
  await lock(sql, 'lane', [id])
  await sql.run('SELECT 1 FROM conversations WHERE id = $1 FOR UPDATE', id)
  await sql.run(OWE_SQL, id, workspace, place)
  type Deleted = { n: number; seq: number; notified: number; owner: string; bytes: number }
  const row = await sql.get<Deleted>(DELETE_SQL, id)
  if (row === undefined) return null
  await sql.run(REMEMBER_ID_SQL, id, row.owner)
  await outbox.end(sql, row.n, row.seq)
  await outbox.write(sql, id, drafts, row.notified)
  await noteChange(sql, row.owner, id)
  await countBytes(sql, row.owner, -row.bytes)
  return row.owner
}
