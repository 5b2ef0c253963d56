/**
 * The statement that appends a group: each member changes its conversation if no other writer has, and all that it writes follows from that
 * row. Members that are missing in the result changed nothing.
 */
import type { Append } from '../contract/conversations.ts'
import { isInFeed } from '../shared/feed-listeners.ts'
import { countOf } from '../shared/notices.ts'
import { wantsOwnerAfter } from '../shared/wants-owner.ts'
import type { SqlValue } from './database.ts'
import {
  ARRAY_COLUMNS,
  arraysOf,
  bytesOf,
  EVENT_COLUMNS,
  type EventRow,
  eventArrays,
  eventRow,
  eventValues,
  linked,
} from './event-rows.ts'
import { FEED_PARTS } from './feed.ts'
import { type Added, addedBy } from './usage.ts'
import { namedIn } from './workspaces.ts'

/** An append with its rows, which are computed once. `attempt` identifies it when it is repeated. */
export type Member = {
  append: Append
  attempt: string
  rows: readonly EventRow[]
  bytes: number
  added: readonly Added[]
}

export function memberOf(append: Append, attempt: string): Member {
  const rows = linked(append.events.map(eventRow))
  const bytes = bytesOf(rows)
  return { append, attempt, rows, bytes, added: addedBy(append.events, bytes) }
}

/**
 * `w`: the members. `v`: those that are masked with the current secrets, which cannot change before the end of the transaction (S7).
 * `g`: those whose guard held (S3). An append that the database already has is no longer at its place, or has no
 * events and is named by `append_id` (S6).
 */
export const APPEND_SQL = `WITH w AS (
    SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
      $9::uuid[], $38::text[], $39::bigint[], $40::bigint[], $41::boolean[], $42::boolean[])
    AS w (member, id, epoch, expected, count, bytes, status, updated_at, attempt, masked_user, masked_version, notified, wants_owner, in_feed)
  ), v AS (
    SELECT w.member FROM w JOIN secret_versions s ON s.user_name = w.masked_user AND s.n = w.masked_version FOR SHARE OF s
  ), g AS (
    UPDATE conversations c SET seq = c.seq + w.count, bytes = c.bytes + w.bytes, status = coalesce(w.status, c.status),
      updated_at = coalesce(w.updated_at, c.updated_at), append_id = w.attempt, notified = c.notified + w.notified,
      wants_owner = coalesce(w.wants_owner, c.wants_owner)
    FROM w WHERE c.id = w.id AND c.seq = w.expected AND c.epoch = w.epoch AND c.append_id IS DISTINCT FROM w.attempt
      AND (w.masked_user IS NULL OR w.member IN (SELECT member FROM v)
        OR w.masked_version = 0 AND NOT EXISTS (SELECT 1 FROM secret_versions s WHERE s.user_name = w.masked_user))
    RETURNING c.n, c.id, c.owner, c.notified, w.member, w.wants_owner, w.in_feed
  ), e AS (
    INSERT INTO events (conversation, ${EVENT_COLUMNS})
    SELECT g.n, ${eventValues('g.n')}
    FROM unnest($10::integer[], ${eventArrays(11)}) AS x (member, ${ARRAY_COLUMNS}) JOIN g USING (member)
  ), s AS (
    INSERT INTO states (conversation, seq, json)
    SELECT g.n, x.seq, x.json FROM unnest($25::integer[], $26::bigint[], $27::text[]) AS x (member, seq, json) JOIN g USING (member)
    ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq, json = excluded.json
  ), r AS (
    UPDATE records SET record = x.record, working_dir = x.working_dir, worktree_source = x.worktree_source
    FROM unnest($28::integer[], $29::text[], $30::text[], $31::text[]) AS x (member, record, working_dir, worktree_source)
    JOIN g USING (member) WHERE records.conversation = g.n
  ), o AS (
    DELETE FROM notes USING g JOIN unnest($32::integer[], $33::text[]) AS x (member, about) USING (member)
    WHERE notes.conversation = g.n AND notes.about >= x.about AND notes.about < x.about || '.'
  ), q AS (
    DELETE FROM crashes USING g WHERE crashes.conversation = g.n AND NOT g.wants_owner
  ), b AS (
    DELETE FROM restored_runs USING g WHERE restored_runs.conversation = g.n AND NOT g.wants_owner
  ), u AS (
    INSERT INTO usage (user_name, period, counter, amount)
    SELECT g.owner, x.period, x.counter, sum(x.amount)
    FROM unnest($34::integer[], $35::text[], $36::text[], $37::double precision[]) AS x (member, period, counter, amount)
    JOIN g USING (member) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (user_name, period, counter) DO UPDATE SET amount = usage.amount + excluded.amount
  ), changed AS (SELECT owner, id FROM g WHERE in_feed), ${FEED_PARTS}
  SELECT member, n, notified, CASE WHEN in_feed THEN owner END AS owner FROM g`

/** A member that `APPEND_SQL` appended. `notified`: number of its newest notification. `owner`: null unless the feed shows the append. */
export type Appended = { member: number; n: number; notified: number; owner: string | null }

/** Pairs of an item of a member and the member's number. */
function itemsOf<T>(members: readonly Member[], items: (member: Member) => readonly T[]): { of: number; item: T }[] {
  return members.flatMap((member, of) => items(member).map((item) => ({ of, item })))
}

const columns = <T>(pairs: readonly { of: number; item: T }[], ...pick: ((item: T) => string | number | null)[]) => [
  pairs.map(({ of }) => of),
  ...pick.map((value) => pairs.map(({ item }) => value(item))),
]

/** The values of `APPEND_SQL`. `isNotified`: notifications are written. */
export function appendValues(members: readonly Member[], isNotified: boolean): SqlValue[] {
  const each = members.map((item, of) => ({ of, item }))
  const events = itemsOf(members, ({ rows }) => rows)
  const states = itemsOf(members, ({ append: { state } }) => (state === undefined ? [] : [state]))
  const records = itemsOf(members, ({ append: { row } }) =>
    row?.record === undefined ? [] : [[row.record, ...namedIn(row.record)] as const],
  )
  const settled = itemsOf(members, ({ append }) => append.settled ?? [])
  const added = itemsOf(members, (member) => member.added)
  return [
    ...columns(
      each,
      ({ append }) => append.id,
      ({ append }) => append.epoch,
      ({ append }) => append.expectedSeq,
      ({ rows }) => rows.length,
      ({ bytes }) => bytes,
      ({ append }) => append.row?.status ?? null,
      ({ append }) => append.row?.updated_at ?? null,
      ({ attempt }) => attempt,
    ),
    events.map(({ of }) => of),
    ...arraysOf(events.map(({ item }) => item)),
    ...columns(
      states,
      ({ seq }) => seq,
      ({ json }) => json,
    ),
    ...columns(
      records,
      ([record]) => record,
      ([, workingDir]) => workingDir,
      ([, , source]) => source,
    ),
    ...columns(settled, (about) => about),
    ...columns(
      added,
      ({ period }) => period,
      ({ counter }) => counter,
      ({ amount }) => amount,
    ),
    members.map(({ append }) => append.masked?.user ?? null),
    members.map(({ append }) => append.masked?.version ?? null),
    members.map(({ append }) => (isNotified ? countOf(append.outbox ?? []) : 0)),
    members.map(({ append }) => wantsOwnerAfter(append.row)),
    members.map(({ append }) => isInFeed(append.row)),
  ]
}
