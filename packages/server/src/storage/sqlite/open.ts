/** Opens the store of one node, which is a single SQLite file. */
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { FeedListeners } from '../shared/feed-listeners.ts'
import type { Storage } from '../storage.ts'
import { sqliteAudit } from './audit.ts'
import { sqliteBash } from './bash.ts'
import { sqliteCallbacks } from './callbacks.ts'
import { sqliteCalls } from './calls.ts'
import { sqliteCheckpoints } from './checkpoints.ts'
import { Deliveries } from './deliveries.ts'
import { sqliteDocuments } from './documents.ts'
import { EventBackfill } from './event-backfill.ts'
import { ownLogs, sqliteEvents } from './events.ts'
import { explained } from './failures.ts'
import { sqliteFeed } from './feed.ts'
import { sqliteFiles } from './files.ts'
import { CHECKPOINT_PAGES, GroupCommit } from './group-commit.ts'
import { sqliteIdempotency } from './idempotency.ts'
import { sqliteKeys } from './keys.ts'
import { sqliteLog } from './log.ts'
import { sqliteLogins } from './logins.ts'
import { migrate } from './migrations.ts'
import { sqliteNodes } from './nodes.ts'
import { sqliteNotes } from './notes.ts'
import { Outbox } from './outbox.ts'
import { sqliteOwning } from './owning.ts'
import { ReceivedConversations } from './received.ts'
import { sqliteRecords } from './records.ts'
import { sqliteSealTest } from './seal-test.ts'
import { sqliteSettings } from './settings.ts'
import { Sql } from './sql.ts'
import { LogSweep } from './sweep.ts'
import { SqliteTargets } from './targets.ts'
import { sqliteUsage } from './usage.ts'
import { sqliteUsers } from './users.ts'
import { sqliteVault } from './vault.ts'
import { sqliteWorkspaces } from './workspaces.ts'

const BUSY_TIMEOUT_MS = 3_000
/** Longest time for which one statement blocks the thread to wait for another process; writes repeat it. */
const BLOCKING_WAIT_MS = 10
const MEBIBYTE = 1024 * 1024

/**
 * `page_size` is first, because it has an effect only before any other write. The cache has two mebibytes: pages of the file are read where
 * they are mapped, so it serves only pages of the write-ahead log.
 */
const PRAGMAS = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
  PRAGMA journal_size_limit = ${32 * MEBIBYTE};
  PRAGMA mmap_size = ${64 * MEBIBYTE};
  PRAGMA cache_size = -2048;
  PRAGMA temp_store = MEMORY;
`

export type SqliteOptions = {
  /** File of the store, created with its directory when missing; `:memory:` stores nothing on disk. */
  path: string
  /** Milliseconds that a write waits for another process that writes to the same file; default 3,000. */
  busyTimeoutMs?: number
  now?: () => Date
}

/** Creates file and directory, accessible to the owner only; SQLite gives its side files the mode of the file. */
async function prepareFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await using file = await open(path, 'a', 0o600)
  const { mode } = await file.stat()
  if ((mode & 0o077) !== 0) await file.chmod(0o600)
}

/** The connection with its settings and the newest schema. It blocks the thread while another process holds a lock. */
export function connect(path: string, busyTimeoutMs = BUSY_TIMEOUT_MS): Sql {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  try {
    database.exec(PRAGMAS)
    const sql = new Sql(database)
    migrate(sql, path)
    return sql
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Opens the store and migrates it to the newest schema. Disposal commits waiting work; later calls are refused.
 * @throws ParleyError `unavailable` when the file is locked, damaged, of another program or written by a newer Parley.
 */
export async function openSqlite({
  path,
  busyTimeoutMs = BUSY_TIMEOUT_MS,
  now = () => new Date(),
}: SqliteOptions): Promise<Storage> {
  if (path !== ':memory:') await prepareFile(path)
  let sql: Sql
  try {
    sql = connect(path, busyTimeoutMs)
    sql.exec(`PRAGMA busy_timeout = ${Math.min(BLOCKING_WAIT_MS, busyTimeoutMs)}`)
  } catch (error) {
    throw explained(error, path)
  }
  const commits = new GroupCommit(sql, path, busyTimeoutMs)
  const sweep = new LogSweep(sql, commits)
  const outbox = new Outbox(sql, now)
  const feeds = new FeedListeners()
  const backfill = new EventBackfill(sql, commits)
  sweep.start()
  backfill.start()

  let closing: Promise<void> | undefined
  const close = async () => {
    await sweep.stop()
    await backfill.stop()
    await commits.close()
    sql.database.close()
  }
  return {
    conversations: {
      ...sqliteRecords(sql, commits, sweep, outbox, feeds),
      ...sqliteOwning(sql, commits),
      ...sqliteLog(sql, commits, outbox, feeds),
    },
    events: sqliteEvents(sql, commits, ownLogs(sql)),
    feed: sqliteFeed(sql, commits, feeds),
    outbox: new Deliveries(sql, commits, outbox, sweep),
    targets: new SqliteTargets(sql, commits, outbox, sweep),
    received: new ReceivedConversations(sql, commits, sweep, now),
    settings: sqliteSettings(sql, commits),
    secrets: sqliteVault(sql, commits, now),
    documents: sqliteDocuments(sql, commits, now),
    bash: sqliteBash(sql, commits),
    calls: sqliteCalls(sql, commits),
    nodes: sqliteNodes(sql, commits),
    files: sqliteFiles(sql, commits),
    callbacks: sqliteCallbacks(sql, commits),
    notes: sqliteNotes(sql, commits),
    workspaces: sqliteWorkspaces(sql, commits),
    checkpoints: sqliteCheckpoints(sql, commits),
    keys: sqliteKeys(sql, commits, now),
    logins: sqliteLogins(sql, commits),
    users: sqliteUsers(sql, commits, sweep, now),
    audit: sqliteAudit(sql, commits),
    idempotency: sqliteIdempotency(sql, commits),
    usage: sqliteUsage(sql, commits),
    sealTest: sqliteSealTest(sql, commits),
    shared: null,
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}
