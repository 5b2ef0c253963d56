/** The feeds of users. The number of a user is locked until the commit, so that no change becomes visible before one with a lower number. */
import type { ConversationId } from '@parley/protocol'
import { KEPT_CHANGES, RESTORED_CHANGES, type FeedChange, type FeedStore } from '../contract/feed.ts'
import type { FeedListeners } from '../shared/feed-listeners.ts'
import type { Database, Sql } from './database.ts'

const NEWEST_SQL = 'SELECT n FROM feeds WHERE user_name = $1'
/** One statement, so that no change is removed between the two readings. */
const SINCE_SQL = `SELECT f.n AS newest, c.n, c.conversation_id FROM feeds f LEFT JOIN LATERAL (
    SELECT max(n) AS n, conversation_id FROM feed_changes WHERE user_name = $1 AND n > $2 GROUP BY conversation_id
  ) c ON true WHERE f.user_name = $1 ORDER BY c.n`

/** The end of a statement whose part `changed` has the owner and the id of conversations that have changed. */
export const FEED_PARTS = `f AS (
    INSERT INTO feeds (user_name, n) SELECT owner, count(*) FROM changed GROUP BY 1 ORDER BY 1
    ON CONFLICT (user_name) DO UPDATE SET n = feeds.n + excluded.n RETURNING user_name, n
  ), h AS (
    INSERT INTO feed_changes (user_name, n, conversation_id)
    SELECT c.owner, f.n + 1 - row_number() OVER (PARTITION BY c.owner ORDER BY c.id), c.id
    FROM changed c JOIN f ON f.user_name = c.owner
  ), d AS (
    DELETE FROM feed_changes USING f WHERE feed_changes.user_name = f.user_name AND feed_changes.n <= f.n - ${KEPT_CHANGES}
  )`
const NOTE_SQL = `WITH changed AS (SELECT $1::text AS owner, $2::text AS id), ${FEED_PARTS} SELECT 1`

/** Only in the transaction that makes the change, before what it counts. */
export async function noteChange(sql: Sql, user: string, id: ConversationId): Promise<void> {
  await sql.run(NOTE_SQL, user, id)
}

/** After a backup was restored: readers know numbers that it lacks, and these are not given again. */
export async function raiseFeeds(sql: Sql): Promise<void> {
  await sql.run('UPDATE feeds SET n = n + $1', RESTORED_CHANGES)
  await sql.run('DELETE FROM feed_changes')
}

export function postgresFeed(database: Database, listeners: FeedListeners): FeedStore {
  return {
    newest: (user) => database.read(async (sql) => (await sql.get<{ n: number }>(NEWEST_SQL, user))?.n ?? 0),
    since: (user, after) =>
      database.read(async (sql) => {
        const rows = await sql.all<{ newest: number } & (FeedChange | { n: null })>(SINCE_SQL, user, after)
        const n = rows[0]?.newest ?? 0
        if (after > n || after < n - KEPT_CHANGES) return null
        const changes = rows.flatMap((row) =>
          row.n === null ? [] : [{ n: row.n, conversation_id: row.conversation_id }],
        )
        return { n, changes }
      }),
    subscribe: (listener) => listeners.subscribe(listener),
  }
}
