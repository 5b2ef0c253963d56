import { DatabaseSync } from 'node:sqlite'

/**
 * Tests SQLite with a new file at `path`, which is not removed.
 * @throws the system's error when no store can be made there.
 */
export function probeSqlite(path: string): { version: string; journalMode: string } {
  const store = new DatabaseSync(path)
  try {
    const mode = store.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string }
    store.exec('CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)')
    const { version } = store.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    return { version, journalMode: mode.journal_mode }
  } finally {
    store.close()
  }
}
