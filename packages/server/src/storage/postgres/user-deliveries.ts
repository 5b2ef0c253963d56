/** Deliveries about the conversations of one user. Source: docs/webhooks.md, Disabled and deleted users. */
import type { Database } from './database.ts'
import type { Outbox } from './outbox.ts'

/** Deliveries that are deleted in one transaction. */
const SLICE = 1_000

/** The owner of the conversation of a delivery, also of a deleted one. */
const OWNER = `coalesce((SELECT owner FROM conversations WHERE id = deliveries.conversation_id),
  (SELECT owner FROM deleted_ids WHERE id = deliveries.conversation_id))`

/** A condition for deliveries: their user is neither disabled nor being deleted. */
export const IS_SENT = `(NOT EXISTS (SELECT 1 FROM users WHERE state <> 'active')
  OR NOT EXISTS (SELECT 1 FROM users WHERE user_name = ${OWNER} AND state <> 'active'))`

const CONVERSATIONS_OF_USER =
  'SELECT id FROM conversations WHERE owner = $1 UNION ALL SELECT id FROM deleted_ids WHERE owner = $1'
const UNFOLLOW_SQL = `DELETE FROM followed_logs WHERE conversation_id IN (${CONVERSATIONS_OF_USER})`
const DROP_SQL = `DELETE FROM deliveries WHERE n IN (
    SELECT n FROM deliveries WHERE conversation_id IN (${CONVERSATIONS_OF_USER}) LIMIT ${SLICE}
  ) RETURNING outbox`

/** Deletes all deliveries about a user's conversations, and what targets have not received of their logs. */
export async function dropDeliveries(user: string, database: Database, outbox: Outbox): Promise<void> {
  await database.write((sql) => sql.run(UNFOLLOW_SQL, user))
  const dropSlice = (): Promise<number> =>
    database.write(async (sql) => {
      const rows = await sql.all<{ outbox: number | null }>(DROP_SQL, user)
      for (const payload of new Set(rows.map((row) => row.outbox)))
        if (payload !== null) await outbox.forget(sql, payload)
      return rows.length
    })
  while ((await dropSlice()) > 0) {
    // Each slice is a transaction of its own.
  }
  await database.write((sql) => outbox.release(sql))
}
