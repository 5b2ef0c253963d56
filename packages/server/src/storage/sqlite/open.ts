/** Opens the store of one node: a single SQLite file. */
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Clock, systemClock } from '../../lib/index.ts'
import type { Storage } from '../storage.ts'
import { sqliteAudit } from './audit.ts'
import { sqliteBash } from './bash.ts'
import { sqliteDeliveries } from './deliveries.ts'
import { sqliteDocuments } from './documents.ts'
import { ownLogs, registerFunctions, sqliteEvents } from './events.ts'
import { explained } from './failures.ts'
import { GroupCommit } from './group-commit.ts'
import { sqliteKeys } from './keys.ts'
import { sqliteLog } from './log.ts'
import { migrate } from './migrations.ts'
import { Outbox } from './outbox.ts'
import { sqliteReceived } from './received.ts'
import { sqliteRecords } from './records.ts'
import { sqliteSettings } from './settings.ts'
import { Sql } from './sql.ts'
import { LogSweep } from './sweep.ts'
import { sqliteVault } from './vault.ts'

const MEBIBYTE = 1024 * 1024

/** `page_size` works only before anything else has been written, so it stands first. */
const PRAGMAS = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 1000;
  PRAGMA journal_size_limit = ${32 * MEBIBYTE};
  PRAGMA mmap_size = ${64 * MEBIBYTE};
  PRAGMA cache_size = -8192;
  PRAGMA temp_store = MEMORY;
`

export type SqliteOptions = {
  /** File of the store, made with its directory when absent; `:memory:` keeps nothing. */
  path: string
  /** Milliseconds to wait for another process that writes to the same file; default 5,000. */
  busyTimeoutMs?: number
  clock?: Clock
}

/** Makes file and directory for the owner alone; SQLite gives its side files the mode of the file. */
async function prepareFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await using file = await open(path, 'a', 0o600)
  const { mode } = await file.stat()
  if ((mode & 0o077) !== 0) await file.chmod(0o600)
}

/** The connection with its settings and the newest schema. */
export function connect(path: string, busyTimeoutMs = 5_000): Sql {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true })
  try {
    database.exec(PRAGMAS)
    const sql = new Sql(database)
    migrate(sql, path)
    registerFunctions(sql)
    return sql
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Opens the store, migrating it to the newest schema. Disposing it commits what waits; later calls are refused.
 * @throws ParleyError `unavailable` when the file is locked, damaged, not ours or written by a newer Parley.
 */
export async function openSqlite({ path, busyTimeoutMs, clock = systemClock }: SqliteOptions): Promise<Storage> {
  if (path !== ':memory:') await prepareFile(path)
  let sql: Sql
  try {
    sql = connect(path, busyTimeoutMs)
  } catch (error) {
    throw explained(error, path)
  }
  const commits = new GroupCommit(sql, path)
  const sweep = new LogSweep(sql, commits)
  const outbox = new Outbox(sql, clock)
  sweep.start()

  let closing: Promise<void> | undefined
  const close = async () => {
    await sweep.stop()
    commits.close()
    sql.database.close()
  }
  return {
    conversations: { ...sqliteRecords(sql, commits, sweep, outbox), ...sqliteLog(sql, commits, outbox) },
    events: sqliteEvents(sql, commits, ownLogs(sql)),
    outbox: sqliteDeliveries(sql, commits, outbox, sweep),
    received: sqliteReceived(sql, commits, sweep, clock),
    settings: sqliteSettings(sql, commits),
    secrets: sqliteVault(sql, commits, clock),
    documents: sqliteDocuments(sql, commits, clock),
    bash: sqliteBash(sql, commits),
    keys: sqliteKeys(sql, commits, clock),
    audit: sqliteAudit(sql, commits),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}
