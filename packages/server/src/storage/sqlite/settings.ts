/** One JSON object per user, changed in the transaction that reads it. */
import type { SettingsStore } from '../contract/user-data.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

export function sqliteSettings(sql: Sql, commits: GroupCommit): SettingsStore {
  const get = (user: string) =>
    sql.get<{ json: string }>('SELECT json FROM settings WHERE user = ?', user)?.json ?? null
  return {
    get: (user) => commits.read(() => get(user)),
    update: (user, change) =>
      commits.write(() => {
        const json = change(get(user))
        sql.run(
          'INSERT INTO settings (user, json) VALUES (?, ?) ON CONFLICT (user) DO UPDATE SET json = excluded.json',
          user,
          json,
        )
        return json
      }),
  }
}
