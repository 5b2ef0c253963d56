import { mkdir } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { ConversationId } from '@parley/protocol'
import { releaseNames, restoreRelease } from '../../../testing/release-data.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openSqlite } from './open.ts'

test.each(releaseNames())('the bytes of a store of release %s are counted when it is opened', async (release) => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await mkdir(dataDir)
  const ids = await restoreRelease(release, { dataDir, model: 'http://127.0.0.1:9', work: dir.file('work') })
  const path = `${dataDir}/parley.db`
  await using storage = await openSqlite({ path })
  using sql = new DatabaseSync(path, { readOnly: true })
  const total = () => sql.prepare('SELECT sum(octet_length(event)) AS bytes FROM events').get()?.['bytes']
  const stored = async () => (await storage.usage.of('default', new Date())).stored_bytes
  const before = await stored()
  expect(before).toBeGreaterThan(10_000)
  expect(before).toBe(total())
  const own = sql.prepare('SELECT bytes FROM conversations WHERE id = ?').get(ids.finished)?.['bytes'] as number
  await storage.conversations.delete(ids.finished as ConversationId)
  expect(await stored()).toBe(before - own)
})
