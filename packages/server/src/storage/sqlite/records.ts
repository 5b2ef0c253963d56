/** Creates, finds, lists and deletes the rows of conversations. */
import type { ConversationId } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import type {
  CachedState,
  ConversationQuery,
  ConversationRow,
  ConversationSort,
  ConversationStore,
  OutboxDraft,
  OwedRelease,
  SealedJson,
  WorkspaceChoice,
} from '../contract/conversations.ts'
import { insertCheckpoint } from './checkpoints.ts'
import { Cursors } from '../shared/cursors.ts'
import { requireDense } from '../shared/dense.ts'
import { type Parent, treeOf } from '../shared/roots.ts'
import { wantsOwnerAfter } from '../shared/wants-owner.ts'
import { bytesOfFiles } from '../shared/file-bytes.ts'
import type { FeedListeners } from '../shared/feed-listeners.ts'
import type { GroupCommit } from './group-commit.ts'
import { bytesOf, type EventColumns, eventColumns, insertEvents, packedId } from './event-columns.ts'
import { noteChange, raiseFeeds } from './feed.ts'
import { putState } from './log.ts'
import { insertFile } from './files.ts'
import type { Outbox } from './outbox.ts'
import { ROWS_SQL } from './rows.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'
import { countBytes } from './usage.ts'

export const GET_SQL = `${ROWS_SQL} WHERE c.id = ?`
export const HOLDERS_SQL =
  'SELECT c.id, c.owner FROM events e JOIN conversations c ON c.n = e.conversation WHERE e.id = ?'
/** Children of the same owner only: no user sees the conversations of another one. */
export const CHILDREN_SQL = `SELECT id FROM conversations WHERE parent_conversation_id = ?
  AND owner = (SELECT owner FROM conversations WHERE id = ?) ORDER BY id`

export const STATE_SQL =
  'SELECT s.seq, s.json FROM conversations c JOIN states s ON s.conversation = c.n WHERE c.id = ?'

export const countSql = (hasStatus: boolean): string =>
  `SELECT count(*) AS count FROM conversations WHERE owner = ?${hasStatus ? ' AND status = ?' : ''}`

export const SORT_COLUMN = {
  CREATED_AT: 'created_at',
  CREATED_AT_DESC: 'created_at',
  UPDATED_AT: 'updated_at',
  UPDATED_AT_DESC: 'updated_at',
} as const satisfies Record<ConversationSort, string>

/**
 * One page in index order. Rows of the same time are ordered by `n`, the order of creation, which is the last column of
 * every index; SQLite uses the time for its range and steps over the rows of the same time.
 */
export function searchSql(sort: ConversationSort, hasStatus: boolean, hasCursor: boolean): string {
  const column = SORT_COLUMN[sort]
  const descends = sort.endsWith('_DESC')
  const order = descends ? 'DESC' : 'ASC'
  const status = hasStatus ? ' AND c.status = ?' : ''
  const cursor = hasCursor ? ` AND (c.${column}, c.n) ${descends ? '<=' : '>='} (?, ?)` : ''
  return `${ROWS_SQL} WHERE c.owner = ?${status}${cursor} ORDER BY c.${column} ${order}, c.n ${order} LIMIT ?`
}

type Records = Omit<ConversationStore, 'own' | 'claim' | 'holder' | 'orphans' | 'wanting' | 'release' | 'append'>
type NewConversation = Parameters<ConversationStore['create']>[0]

export function sqliteRecords(
  sql: Sql,
  commits: GroupCommit,
  sweep: LogSweep,
  outbox: Outbox,
  feeds: FeedListeners,
): Records {
  const cursors = new Cursors()
  return {
    create: async (conversation) => {
      const events = conversation.events ?? []
      requireDense(0, events)
      const columns = events.map(eventColumns)
      const bytes = bytesOf(columns) + bytesOfFiles(conversation.files ?? [])
      const isCreated = await commits.write(() => createNow(sql, outbox, conversation, { columns, bytes }))
      if (!isCreated) return 'exists'
      outbox.announceCommit(conversation.id, conversation.outbox, columns.length)
      feeds.changed(conversation.owner)
      return 'created'
    },
    get: (id) => commits.read(() => getNow(sql, id)),
    ownerOf: (id) =>
      commits.read(() => {
        const owner = (table: string) =>
          sql.get<{ owner: string }>(`SELECT owner FROM ${table} WHERE id = ?`, id)?.owner
        return owner('conversations') ?? owner('deleted_ids') ?? null
      }),
    holders: (event) =>
      commits.read(() =>
        sql.all<Pick<ConversationRow, 'id' | 'owner'>>(HOLDERS_SQL, packedId(event)).map((row) => ({ ...row })),
      ),
    getMany: (ids) => commits.read(() => ids.map((id) => getNow(sql, id))),
    search: (query) => commits.read(() => searchNow(sql, cursors, query)),
    count: (owner, status) =>
      commits.read(() => {
        const values = status === undefined ? [owner] : [owner, status]
        return sql.get<{ count: number }>(countSql(status !== undefined), ...values)?.count ?? 0
      }),
    children: (id) => commits.read(() => sql.all<{ id: ConversationId }>(CHILDREN_SQL, id, id).map((row) => row.id)),
    states: (ids) =>
      commits.read(() =>
        ids.map((id) => {
          const state = sql.get<CachedState>(STATE_SQL, id)
          return state === undefined ? null : { ...state }
        }),
      ),
    cacheState: (id, state) =>
      commits.write(() => {
        const row = sql.get<{ n: number }>('SELECT n FROM conversations WHERE id = ? AND seq = ?', id, state.seq)
        if (row !== undefined) putState(sql, row.n, state)
      }),
    countCrash: () =>
      commits.write(() => {
        sql.run(
          `INSERT INTO crashes (conversation, count) SELECT n, 1 FROM conversations WHERE wants_owner = 1
           ON CONFLICT (conversation) DO UPDATE SET count = count + 1`,
        )
      }),
    markRestored: (backupAt) =>
      commits.write(() => {
        sql.run('DELETE FROM made_workspaces')
        raiseFeeds(sql)
        return sql.run(
          `INSERT OR REPLACE INTO restored_runs (conversation, backup_at)
           SELECT n, ? FROM conversations WHERE wants_owner = 1`,
          backupAt,
        )
      }),
    changeRecords: (change) => commits.write(() => changeRecordsNow(sql, change)),
    countFiles: (id, bytes) => commits.write(() => countFilesNow(sql, id, bytes)),
    owesReleases: (owner) =>
      commits.read(() => sql.get('SELECT 1 FROM owed_releases WHERE owner = ? LIMIT 1', owner) !== undefined),
    owedReleases: () =>
      commits.read(() =>
        sql.all<OwedRelease>('SELECT id, owner, record, workspace FROM owed_releases').map((row) => ({ ...row })),
      ),
    released: (id) => commits.write(() => void sql.run('DELETE FROM owed_releases WHERE id = ?', id)),
    delete: async (id, drafts = [], workspace = 'keep') => {
      const owner = await commits.write(() => deleteNow(sql, outbox, id, drafts, workspace))
      if (owner === null) return false
      outbox.announceCommit(id, drafts, 0, true)
      feeds.changed(owner)
      sweep.start()
      return true
    },
  }
}

/** Inserts row, record and first events; false when the id is taken. */
function createNow(
  sql: Sql,
  outbox: Outbox,
  row: NewConversation,
  { columns: events, bytes }: { columns: readonly EventColumns[]; bytes: number },
): boolean {
  // Its release would end the processes of the new conversation.
  if (sql.get('SELECT 1 FROM owed_releases WHERE id = ?', row.id) !== undefined) return false
  // Files and notifications of the deleted conversation may still exist under this id.
  if (sql.get('SELECT 1 FROM deleted_ids WHERE id = ? AND owner <> ?', row.id, row.owner) !== undefined) return false
  const { root, place } = treeOf(row, parentOf(sql, row))
  const made = sql.returning<{ n: number }>(
    `INSERT INTO conversations
       (id, owner, created_at, updated_at, seq, bytes, epoch, node, root, place, status, wants_owner, parent_conversation_id, notified)
     VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING n`,
    row.id,
    row.owner,
    row.created_at,
    row.updated_at,
    events.length,
    bytes,
    row.node,
    root,
    place,
    row.status,
    Number(wantsOwnerAfter(row)),
    row.parent_conversation_id,
    outbox.targets.length === 0 ? 0 : outbox.lastSequence(row.id),
  )
  if (made === undefined) return false
  sql.run('INSERT INTO records (conversation, record) VALUES (?, ?)', made.n, row.record)
  insertEvents(sql, made.n, events)
  countBytes(sql, row.owner, bytes)
  for (const file of row.files ?? []) insertFile(sql, made.n, file)
  for (const checkpoint of row.checkpoints ?? []) insertCheckpoint(sql, made.n, checkpoint)
  if (row.state !== undefined) putState(sql, made.n, row.state)
  if (events.length > 0) outbox.follow(made.n, row.id, 0)
  outbox.notify(made.n, row.id, row.outbox)
  noteChange(sql, row.owner, row.id)
  return true
}

function parentOf(sql: Sql, { isSubAgent, parent_conversation_id: parent }: NewConversation): Parent | undefined {
  if (isSubAgent !== true) return undefined
  return sql.get<Parent>('SELECT coalesce(root, id) AS root, place, node FROM conversations WHERE id = ?', parent)
}

function getNow(sql: Sql, id: ConversationId): ConversationRow | null {
  const row = sql.get<ConversationRow>(GET_SQL, id)
  return row === undefined ? null : { ...row }
}

function searchNow(sql: Sql, cursors: Cursors, query: ConversationQuery) {
  const { owner, status, sort, limit, from } = query
  const column = SORT_COLUMN[sort]
  const place =
    from === undefined
      ? undefined
      : (cursors.recall(query, from) ??
        sql.get<{ at: string; n: number }>(
          `SELECT ${column} AS at, n FROM conversations WHERE id = ? AND owner = ?`,
          from,
          owner,
        ))
  const values: SQLInputValue[] = [owner]
  if (status !== undefined) values.push(status)
  if (place !== undefined) values.push(place.at, place.n)
  const text = searchSql(sort, status !== undefined, place !== undefined)
  const found = sql.all<ConversationRow>(text, ...values, limit + 1)
  const items = found.slice(0, limit).map((row) => ({ ...row }))
  const following = found[limit]
  if (following === undefined) return { items, next: null }
  const n = sql.get<{ n: number }>('SELECT n FROM conversations WHERE id = ?', following.id)?.n ?? 0
  cursors.remember(query, following.id, { at: following[column], n, rank: 0 })
  return { items, next: following.id }
}

/** One record at a time, because together they may exceed the memory. */
function changeRecordsNow(sql: Sql, change: (record: SealedJson) => SealedJson): void {
  type Row = { conversation: number; record: SealedJson }
  const next = (after: number) =>
    sql.get<Row>('SELECT conversation, record FROM records WHERE conversation > ? ORDER BY conversation LIMIT 1', after)
  for (let row = next(0); row !== undefined; row = next(row.conversation)) {
    const changed = change(row.record)
    if (changed !== row.record)
      sql.run('UPDATE records SET record = ? WHERE conversation = ?', changed, row.conversation)
  }
}

function countFilesNow(sql: Sql, id: ConversationId, bytes: number): void {
  const row = sql.get<{ owner: string; file_bytes: number }>(
    'SELECT owner, file_bytes FROM conversations WHERE id = ?',
    id,
  )
  if (row === undefined) return
  sql.run('UPDATE conversations SET file_bytes = ? WHERE id = ?', bytes, id)
  countBytes(sql, row.owner, bytes - row.file_bytes)
}

/** Deletes the row and writes the last notifications; the log is left to the sweep. Returns the owner; null: there is no such row. */
function deleteNow(
  sql: Sql,
  outbox: Outbox,
  id: ConversationId,
  drafts: readonly OutboxDraft[],
  workspace: WorkspaceChoice,
): string | null {
  sql.run(
    `INSERT OR REPLACE INTO owed_releases (id, owner, record, workspace)
     SELECT c.id, c.owner, r.record, ? FROM conversations c JOIN records r ON r.conversation = c.n WHERE c.id = ?`,
    workspace,
    id,
  )
  sql.run('INSERT OR REPLACE INTO deleted_ids (id, owner) SELECT id, owner FROM conversations WHERE id = ?', id)
  const row = sql.returning<{ n: number; seq: number; notified: number; owner: string; bytes: number }>(
    'DELETE FROM conversations WHERE id = ? RETURNING n, seq, notified, owner, bytes + file_bytes AS bytes',
    id,
  )
  if (row === undefined) return null
  countBytes(sql, row.owner, -row.bytes)
  outbox.end(row.n, row.seq)
  outbox.write(id, drafts, row.notified)
  noteChange(sql, row.owner, id)
  return row.owner
}
