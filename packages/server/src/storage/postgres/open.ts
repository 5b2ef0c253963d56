/** Opens a store in a PostgreSQL database. */
import type { PlaceId } from '../contract/nodes.ts'
import type { Lease } from '../contract/shared.ts'
import { FeedListeners } from '../shared/feed-listeners.ts'
import type { Storage } from '../storage.ts'
import { Appends } from './appends.ts'
import { postgresAudit } from './audit.ts'
import { postgresBash } from './bash.ts'
import { postgresCallbacks } from './callbacks.ts'
import { postgresCalls } from './calls.ts'
import { postgresCheckpoints } from './checkpoints.ts'
import { Database, nameOf } from './database.ts'
import { Deliveries } from './deliveries.ts'
import { postgresDocuments } from './documents.ts'
import { OWN_LOGS, postgresEvents } from './events.ts'
import { postgresFeed } from './feed.ts'
import { postgresFiles } from './files.ts'
import { raiseEpochsOfRestored } from './identity.ts'
import { postgresIdempotency } from './idempotency.ts'
import { postgresKeys } from './keys.ts'
import { postgresLogins } from './logins.ts'
import { postgresLog } from './log.ts'
import { migrate } from './migrations.ts'
import { postgresNodes } from './nodes.ts'
import { postgresNotes } from './notes.ts'
import { Outbox } from './outbox.ts'
import { ReceivedConversations } from './received.ts'
import { postgresOwning } from './owning.ts'
import { expectSessions } from './pooler.ts'
import { postgresRecords } from './records.ts'
import { postgresSealTest } from './seal-test.ts'
import { postgresSettings } from './settings.ts'
import { postgresShared } from './shared.ts'
import { LogSweep } from './sweep.ts'
import { PostgresTargets } from './targets.ts'
import { postgresUsage } from './usage.ts'
import { postgresUsers } from './users.ts'
import { postgresVault } from './vault.ts'
import { postgresWorkspaces } from './workspaces.ts'

export type PostgresOptions = {
  /** Address of the database, with user and password where it asks for them. */
  url: string
  /** Address for the lease and the notifications, where a pooler is at `url`; default: `url`. */
  sessionUrl?: string | null
  /** The data directory that this process works with; default: none, for what is not bound to one. */
  place?: PlaceId | null
  now?: () => Date
}

/**
 * Opens the store and migrates it to the newest schema. Disposal commits waiting work; later calls are refused.
 * @throws ParleyError `unavailable` when the database cannot be used, is too old, or was written by a newer Parley.
 */
export async function openPostgres({
  url,
  sessionUrl = null,
  place: givenPlace = null,
  now: givenNow,
}: PostgresOptions): Promise<Storage> {
  const now = givenNow ?? (() => new Date())
  await expectSessions({ url, name: nameOf(url) })
  const database = new Database(url)
  try {
    await migrate(database)
    await raiseEpochsOfRestored(database)
  } catch (error) {
    await database.close()
    throw error
  }
  const place = givenPlace ?? ''
  let lease: Lease | undefined
  const claimant = { place, mayTakeOver: () => lease?.mayTakeOver ?? true }
  const outbox = new Outbox(givenNow)
  const feeds = new FeedListeners()
  const appends = new Appends(database, outbox)
  const sweep = new LogSweep(database)
  sweep.start()

  let closing: Promise<void> | undefined
  const close = async () => {
    await sweep.stop()
    await appends.close()
    await database.close()
  }
  return {
    conversations: {
      ...postgresRecords(database, sweep, outbox, { place, feeds }),
      ...postgresOwning(database, claimant),
      ...postgresLog(appends, outbox, feeds),
    },
    events: postgresEvents(database, OWN_LOGS),
    feed: postgresFeed(database, feeds),
    outbox: new Deliveries(database, outbox, sweep),
    targets: new PostgresTargets(database, outbox, sweep),
    received: new ReceivedConversations(database, sweep, now),
    settings: postgresSettings(database),
    secrets: postgresVault(database, now),
    documents: postgresDocuments(database, now),
    bash: postgresBash(database, place),
    calls: postgresCalls(database, place),
    files: postgresFiles(database),
    callbacks: postgresCallbacks(database, claimant),
    nodes: postgresNodes(database),
    notes: postgresNotes(database),
    workspaces: postgresWorkspaces(database, place),
    checkpoints: postgresCheckpoints(database),
    keys: postgresKeys(database, now),
    logins: postgresLogins(database),
    users: postgresUsers(database, sweep, now),
    audit: postgresAudit(database),
    idempotency: postgresIdempotency(database),
    usage: postgresUsage(database),
    sealTest: postgresSealTest(database),
    shared: postgresShared(database, { url, sessionUrl }, (opened) => {
      lease = opened
    }),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}
