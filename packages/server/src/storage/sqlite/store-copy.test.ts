import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { openSqlite } from './open.ts'
import { copyStore } from './store-copy.ts'

test('a copy whose check finds damage is refused with the remedy', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await (await openSqlite({ path }))[Symbol.asyncDispose]()
  {
    // The schema forgets an index, whose pages stay: every page can be copied, and only a check notices.
    using damaged = new DatabaseSync(path, { defensive: false })
    damaged.exec(`PRAGMA writable_schema = ON;
      DELETE FROM sqlite_schema WHERE rowid = (SELECT min(rowid) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL)`)
  }
  await expect(copyStore(path, dir.file('copy.db'))).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/is damaged \(.+\): restore it from an earlier backup$/),
  })
})
