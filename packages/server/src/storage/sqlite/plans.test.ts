/** No hot query may sort or scan: each one's plan is a search through the expected index, in its order. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConversationSort } from '../contract/conversations.ts'
import * as audit from './audit.ts'
import * as bash from './bash.ts'
import * as checkpoints from './checkpoints.ts'
import * as deliveries from './deliveries.ts'
import { FOLLOWED_SQL } from './event-batches.ts'
import { PARTS_SQL } from './files.ts'
import * as documents from './documents.ts'
import * as scans from './event-scan.ts'
import * as events from './events.ts'
import * as idempotency from './idempotency.ts'
import * as keys from './keys.ts'
import * as logins from './logins.ts'
import * as notes from './notes.ts'
import { connect } from './open.ts'
import * as outbox from './outbox.ts'
import * as owning from './owning.ts'
import * as received from './received.ts'
import * as records from './records.ts'
import type { Sql } from './sql.ts'
import { SWEEPABLE_SQL } from './sweep.ts'
import * as feed from './feed.ts'
import * as usage from './usage.ts'
import * as vault from './vault.ts'
import * as waiting from './waiting-deliveries.ts'
import { NAMING_SQL } from './workspaces.ts'

let sql: Sql
beforeAll(() => {
  sql = connect(':memory:')
})
afterAll(() => sql.database.close())

/** The steps of the plan; placeholders stay unbound, as the planner sees them when the statement is prepared. */
const planOf = (text: string): string[] =>
  sql.database
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map((row) => String(row.detail))

const filters = {
  none: {},
  kinds: { kinds: ['MessageEvent', 'ActionEvent'] },
  body: { body: 'needle' },
  text: { text: 'needle' },
  all: { kinds: ['MessageEvent'], source: 'user', body: 'x', timestampGte: 'a', timestampLt: 'b' },
}

test.each(
  (['asc', 'desc'] as const).flatMap((order) =>
    Object.entries(filters).map(([name, filter]) => [order, name, scans.filterSql(filter).where] as const),
  ),
)('a page of events in order %s with filter "%s" is one range of the index', (order, _, where) => {
  expect(planOf(scans.scanSql(order, where))).toEqual([
    'SEARCH events USING INDEX events_seq (conversation=? AND seq>? AND seq<?)',
  ])
})

test.each(['asc', 'desc'] as const)(
  'a page of usage records in order %s is read from the index of that kind',
  (order) => {
    const { where } = scans.filterSql({ kinds: ['UsageRecordedEvent'] })
    expect(planOf(scans.scanSql(order, where))).toEqual([
      'SEARCH events USING INDEX events_usage (conversation=? AND seq>? AND seq<?)',
    ])
  },
)

test('the query plan of a filtered count reads one conversation only', () => {
  expect(planOf(scans.scanCountSql(scans.filterSql(filters.all).where))).toEqual([
    'SEARCH events USING INDEX events_seq (conversation=? AND seq>? AND seq<?)',
  ])
})

test('the query plans of single events use their keys', () => {
  expect(planOf(events.GET_SQL)).toEqual(['SEARCH events USING INDEX events_id (id=? AND conversation=?)'])
  expect(planOf(events.GET_BY_SEQ_SQL)).toEqual(['SEARCH events USING INDEX events_seq (conversation=? AND seq=?)'])
})

test('the query plans of the notes of a call use their key', () => {
  expect(planOf(notes.GET_SQL)).toEqual([
    'SEARCH c USING COVERING INDEX sqlite_autoindex_conversations_1 (id=?)',
    'SEARCH o USING INDEX sqlite_autoindex_notes_1 (conversation=? AND about=? AND kind=?)',
  ])
  expect(planOf(notes.CHANGE_SQL)).toEqual([
    expect.stringContaining('(conversation=? AND about=? AND kind=?)') as string,
  ])
  expect(planOf(notes.SETTLE_SQL)).toEqual([
    expect.stringContaining('(conversation=? AND about>? AND about<?)') as string,
  ])
})

test('the query plan of a file of a conversation uses its key, in the order of the parts', () => {
  expect(planOf(PARTS_SQL)).toEqual([
    'SEARCH c USING COVERING INDEX sqlite_autoindex_conversations_1 (id=?)',
    'SEARCH f USING INDEX sqlite_autoindex_conversation_files_1 (conversation=? AND name=?)',
  ])
})

test('the query plan of the version of secrets, which every append reads, uses its key', () => {
  expect(planOf(vault.VERSION_SQL)).toEqual([
    'SEARCH secret_versions USING COVERING INDEX sqlite_autoindex_secret_versions_1 (of_user=?)',
  ])
})

test('the query plans of a page and of the newest usage records use their own indexes', () => {
  expect(planOf(events.pageSql('desc'))).toEqual([
    'SEARCH events USING INDEX events_seq (conversation=? AND seq>? AND seq<?)',
  ])
  expect(planOf(events.NEWEST_USAGE_SQL)).toEqual(['SEARCH events USING INDEX events_usage (conversation=?)'])
})

test('the query plan of an outline reads its index alone', () => {
  expect(planOf(events.OUTLINE_SQL)).toEqual([
    'SEARCH events USING COVERING INDEX events_outline (conversation=? AND seq>? AND seq<?)',
  ])
})

test('the query plans of checkpoints use their key, in its order', () => {
  const conversation = 'SEARCH conversations USING COVERING INDEX sqlite_autoindex_conversations_1 (id=?)'
  expect(planOf(checkpoints.CHECKPOINT_AT_SQL)).toEqual([
    'SEARCH checkpoints USING PRIMARY KEY (conversation=? AND seq<?)',
    'SCALAR SUBQUERY 1',
    conversation,
  ])
  expect(planOf(checkpoints.CHECKPOINTS_SQL)).toEqual([
    'SEARCH checkpoints USING PRIMARY KEY (conversation=?)',
    'SCALAR SUBQUERY 1',
    conversation,
  ])
})

const SORTS: readonly ConversationSort[] = ['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']

test.each(
  SORTS.flatMap((sort) =>
    [true, false].flatMap((status) => [true, false].map((cursor) => [sort, status, cursor] as const)),
  ),
)('a listing in order %s (status: %s, cursor: %s) follows an index', (sort, hasStatus, hasCursor) => {
  const [search, ...rest] = planOf(records.searchSql(sort, hasStatus, hasCursor))
  const column = records.SORT_COLUMN[sort]
  const index = `conversations_${hasStatus ? 'status_' : ''}${column.replace('_at', '')}`
  const terms = ['owner=?', ...(hasStatus ? ['status=?'] : [])].join(' AND ')
  const bound = hasCursor ? ` AND ${column}${sort.endsWith('_DESC') ? '<' : '>'}?` : ''
  expect(search).toBe(`SEARCH c USING INDEX ${index} (${terms}${bound})`)
  expect(rest).toEqual(['SEARCH r USING INTEGER PRIMARY KEY (rowid=?)'])
})

test.each([
  ['get', records.GET_SQL, /^SEARCH c USING INDEX sqlite_autoindex_conversations_1 \(id=\?\)$/],
  ['state', records.STATE_SQL, /^SEARCH c USING (COVERING )?INDEX sqlite_autoindex_conversations_1 \(id=\?\)$/],
  ['count', records.countSql(false), /^SEARCH conversations USING COVERING INDEX \S+ \(owner=\?\)$/],
  [
    'count of a status',
    records.countSql(true),
    /^SEARCH conversations USING COVERING INDEX \S+ \(owner=\? AND status=\?\)$/,
  ],
  ['holders', records.HOLDERS_SQL, /^SEARCH e USING (COVERING )?INDEX events_id \(id=\?\)$/],
  ['orphans', owning.ORPHANS_SQL, /^SCAN conversations USING INDEX conversations_wanting$/],
  ['a claim of a root', owning.CLAIM_SQL, /^MULTI-INDEX OR$/],
  [
    'children',
    records.CHILDREN_SQL,
    /^SEARCH conversations USING INDEX conversations_parent \(parent_conversation_id=\?\)$/,
  ],
  ['changes of a feed', feed.SINCE_SQL, /^SEARCH feed_changes USING PRIMARY KEY \(user=\? AND n>\?\)$/],
  ['usage', usage.OF_USER_SQL, /^SEARCH usage USING PRIMARY KEY \(user=\? AND period=\?\)$/],
  [
    'due deliveries',
    deliveries.DUE_SQL,
    /^SEARCH deliveries USING INDEX deliveries_due \(target=\? AND next_attempt_at<\?\)$/,
  ],
  [
    'next due',
    deliveries.NEXT_DUE_SQL,
    /^SEARCH deliveries USING COVERING INDEX deliveries_due \(target=\? AND next_attempt_at>\?\)$/,
  ],
  [
    'deliveries far ahead',
    deliveries.FAR_AHEAD_SQL,
    /^SEARCH deliveries USING INDEX deliveries_due \(target=\? AND next_attempt_at>\?\)$/,
  ],
  ['counts', deliveries.COUNTS_SQL, /^SEARCH deliveries USING COVERING INDEX deliveries_status \(status=\?\)$/],
  ['waiting', waiting.WAITING_SQL, /^SEARCH deliveries USING COVERING INDEX deliveries_waiting \(target=\?\)$/],
  [
    'oldest waiting',
    waiting.OLDEST_WAITING_SQL,
    /^SEARCH deliveries USING COVERING INDEX deliveries_waiting \(target=\?\)$/,
  ],
  ['first of a lane', deliveries.PROMOTE_SQL, /^SEARCH deliveries USING INDEX deliveries_lane \(/],
  ['busy lane', outbox.LANE_SQL, /^SEARCH deliveries USING (COVERING )?INDEX deliveries_lane \(/],
  [
    'last notification',
    outbox.LAST_SEQUENCE_SQL,
    /^SEARCH outbox USING COVERING INDEX outbox_conversation \(conversation_id=\?\)$/,
  ],
  ['followers', outbox.FOLLOWERS_SQL, /^SEARCH followed_logs USING INDEX \S+ \(log=\?\)$/],
  [
    'followed log',
    FOLLOWED_SQL,
    /^SEARCH f USING INDEX followed_logs_conversation \(target=\? AND conversation_id=\?\)$/,
  ],
  [
    'deliveries',
    deliveries.listSql(true, true),
    /^SEARCH deliveries USING INDEX deliveries_status \(status=\? AND n<\?\)$/,
  ],
  ['received', received.GET_RECEIVED_SQL, /^SEARCH c USING INDEX \S+ \(owner=\? AND id=\?\)$/],
  ['secret', vault.GET_SQL, /^SEARCH secrets USING INDEX \S+ \(user=\? AND name=\?\)$/],
  ['secrets', vault.LIST_SQL, /^SEARCH secrets USING INDEX \S+ \(user=\?\)$/],
  ['audit', audit.listAuditSql(false, true), /^SEARCH audit USING INTEGER PRIMARY KEY \(rowid<\?\)$/],
  ['audit beyond a number', audit.AUDIT_EXCESS_SQL, /^SEARCH audit USING COVERING INDEX audit_user \(user=\?\)$/],
  ['audit of a user', audit.listAuditSql(true, true), /^SEARCH audit USING INDEX audit_user \(user=\? AND n<\?\)$/],
  ['documents', documents.LIST_DOCUMENTS_SQL, /^SEARCH documents USING INDEX \S+ \(user=\? AND collection=\?\)$/],
  [
    'document',
    documents.GET_DOCUMENT_SQL,
    /^SEARCH documents USING INDEX \S+ \(user=\? AND collection=\? AND name=\?\)$/,
  ],
  ['bash events', bash.bashPageSql([], 'asc'), /^SEARCH bash_events USING INDEX bash_events_user \(user=\?\)$/],
  [
    'bash events of a command',
    bash.bashPageSql(['command_id = ?'], 'desc'),
    /^SEARCH bash_events USING INDEX bash_events_command \(user=\? AND command_id=\?\)$/,
  ],
  ['bash event', bash.GET_BASH_SQL, /^SEARCH bash_events USING INDEX \S+ \(user=\? AND id=\?\)$/],
  ['open commands', bash.OPEN_BASH_SQL, /^SCAN bash_events USING INDEX bash_events_open$/],
  ['key', keys.FIND_SQL, /^SEARCH keys USING INDEX \S+ \(hash=\?\)$/],
])('the query "%s" has the expected plan and sorts nothing', (_, text, first) => {
  const plan = planOf(text)
  expect(plan[0]).toMatch(first)
  expect(plan.filter((step) => step.includes('TEMP B-TREE'))).toEqual([])
})

test.each(
  SORTS.flatMap((sort) =>
    [true, false].flatMap((status) => [true, false].map((cursor) => [sort, status, cursor] as const)),
  ),
)('a listing of received ones in order %s (status: %s, cursor: %s) follows an index', (sort, hasStatus, hasCursor) => {
  const plan = planOf(received.searchReceivedSql(sort, hasStatus, hasCursor))
  expect(plan[0]).toContain(
    `USING INDEX received_${hasStatus ? 'status_' : ''}${records.SORT_COLUMN[sort].replace('_at', '')} (`,
  )
  expect(plan.filter((step) => step.includes('TEMP B-TREE') || step.startsWith('SCAN'))).toEqual([])
})

test('the query plans of a sweep read released logs only and check their targets by index', () => {
  expect(planOf(SWEEPABLE_SQL)).toEqual(['SCAN deleted_logs USING INDEX deleted_logs_free'])
  const plan = planOf(outbox.RELEASE_SQL).filter((step) => !step.startsWith('CORRELATED'))
  expect(plan.map((step) => step.split(' ')[0])).toEqual(['SEARCH', 'SEARCH', 'SEARCH'])
})

test('the query plan of deleting a conversation scans no table', () => {
  expect(planOf('DELETE FROM conversations WHERE id = ?').filter((step) => step.startsWith('SCAN'))).toEqual([])
})

test('the query plan of a request with an Idempotency-Key uses its key, and that of pruning reads one user only', () => {
  expect(planOf(idempotency.GET_KEYED_SQL)).toEqual([
    'SEARCH keyed_requests USING INDEX sqlite_autoindex_keyed_requests_1 (user=? AND key=?)',
  ])
  expect(planOf(idempotency.PRUNE_KEYED_SQL)).toContain(
    'SEARCH keyed_requests USING COVERING INDEX keyed_requests_user (user=?)',
  )
})

test('the query plan of a request with a session token uses its hash, and a list of sessions reads one user only', () => {
  expect(planOf(logins.FIND_LOGIN_SQL)).toEqual([
    expect.stringMatching(/^SEARCH login_sessions USING INDEX \S+ \(hash=\?\)$/),
  ])
  expect(planOf(logins.LIST_LOGINS_SQL)[0]).toBe('SEARCH login_sessions USING INDEX login_sessions_user (user=?)')
})

test('the query plans of the conversations that name a directory use the indexes over their records', () => {
  for (const [at, text] of NAMING_SQL.entries()) {
    const index = at < 2 ? 'records_working_dir' : 'records_worktree_source'
    const bounds = at % 2 === 0 ? '<expr>=?' : '<expr>>? AND <expr><?'
    expect(planOf(text)[0]).toBe(`SEARCH records USING COVERING INDEX ${index} (${bounds})`)
  }
})
