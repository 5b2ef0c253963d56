import { DatabaseSync } from 'node:sqlite'
import { existsSync } from 'node:fs'

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

/** Users with keys in the store at `path`, of any schema, which is not changed; empty without a store. */
export function storedUsers(path: string): string[] {
  if (!existsSync(path)) return []
  using store = new DatabaseSync(path, { readOnly: true })
  const hasKeys = store.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'keys'").get() !== undefined
  if (!hasKeys) return []
  return store
    .prepare('SELECT DISTINCT user FROM keys ORDER BY user')
    .all()
    .map(({ user }) => String(user))
}
