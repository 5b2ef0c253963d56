/** The feeds of users. */
import type { ConversationId } from '@parley/protocol'
import { KEPT_CHANGES, RESTORED_CHANGES, type FeedChange, type FeedStore } from '../contract/feed.ts'
import type { FeedListeners } from '../shared/feed-listeners.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const NEWEST_SQL = 'SELECT n FROM feeds WHERE user = ?'
export const SINCE_SQL = 'SELECT n, conversation_id FROM feed_changes WHERE user = ? AND n > ? ORDER BY n'
const NEXT_SQL =
  'INSERT INTO feeds (user, n) VALUES (?, 1) ON CONFLICT (user) DO UPDATE SET n = feeds.n + 1 RETURNING n'

/** Only in the transaction that makes the change. */
export function noteChange(sql: Sql, user: string, id: ConversationId): void {
  const { n } = sql.returning<{ n: number }>(NEXT_SQL, user)!
  sql.run('INSERT INTO feed_changes (user, n, conversation_id) VALUES (?, ?, ?)', user, n, id)
  sql.run('DELETE FROM feed_changes WHERE user = ? AND n <= ?', user, n - KEPT_CHANGES)
}

/** After a backup was restored: readers know numbers that it lacks, and these are not given again. */
export function raiseFeeds(sql: Sql): void {
  sql.run('UPDATE feeds SET n = n + ?', RESTORED_CHANGES)
  sql.run('DELETE FROM feed_changes')
}

/** The newest change of each conversation, in the order of the changes. */
function newestOfEach(changes: readonly FeedChange[]): FeedChange[] {
  const newest = new Map<ConversationId, FeedChange>()
  for (const change of changes) {
    newest.delete(change.conversation_id)
    newest.set(change.conversation_id, { ...change })
  }
  return [...newest.values()]
}

export function sqliteFeed(sql: Sql, commits: GroupCommit, listeners: FeedListeners): FeedStore {
  const newest = (user: string) => sql.get<{ n: number }>(NEWEST_SQL, user)?.n ?? 0
  return {
    newest: (user) => commits.read(() => newest(user)),
    since: (user, after) =>
      commits.read(() => {
        const n = newest(user)
        if (after > n || after < n - KEPT_CHANGES) return null
        if (after === n) return { n, changes: [] }
        return { n, changes: newestOfEach(sql.all<FeedChange>(SINCE_SQL, user, after)) }
      }),
    subscribe: (listener) => listeners.subscribe(listener),
  }
}
