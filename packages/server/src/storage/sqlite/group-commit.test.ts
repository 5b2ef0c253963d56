import { newConversationId, newEventId, type StoredEvent } from '@parley/protocol'
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { openSqlite } from './open.ts'

/** Commits in a write-ahead log: frames whose header says how long the database is after it. Only for a log that was not restarted. */
async function commitsIn(wal: string): Promise<number> {
  const data = await readFile(wal)
  const pageSize = data.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + 24 + pageSize <= data.length; at += 24 + pageSize)
    if (data.readUInt32BE(at + 4) !== 0) commits++
  return commits
}

const event = (seq: number): StoredEvent => ({
  seq,
  event: { kind: 'Any', id: newEventId(), timestamp: '2026-01-01T00:00:00.000000' } as unknown as StoredEvent['event'],
})

test('all writes of one turn of the event loop share one commit', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using storage = await openSqlite({ path })
  const ids = Array.from({ length: 64 }, newConversationId)
  const times = { created_at: 'c', updated_at: 'u' }
  await Promise.all(
    ids.map((id) =>
      storage.conversations.create({
        id,
        owner: 'ada',
        ...times,
        node: null,
        status: 'idle',
        parent_conversation_id: null,
        record: '{}',
      }),
    ),
  )
  const before = await commitsIn(`${path}-wal`)
  await Promise.all([
    ...ids.map((id) => storage.conversations.append({ id, epoch: 0, expectedSeq: 0, events: [event(1)] })),
    storage.settings.update('ada', () => '{}'),
    storage.secrets.put('ada', { name: 'A', description: null, sealed: 's' }),
  ])
  expect((await commitsIn(`${path}-wal`)) - before).toBe(1)

  await storage.settings.update('ada', () => '1')
  await storage.settings.update('ada', () => '2')
  expect((await commitsIn(`${path}-wal`)) - before).toBe(3)
})

test('the commit of a large write leaves the copy of the log into the file to a later turn', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using storage = await openSqlite({ path })
  const bytes = 16 * 1024 * 1024
  const sealed = 'x'.repeat(bytes)
  const sizes = await storage.secrets.put('ada', { name: 'A', description: null, sealed }).then(() => ({
    file: statSync(path).size,
    log: statSync(`${path}-wal`).size,
  }))
  expect(sizes.file).toBeLessThan(bytes)
  expect(sizes.log).toBeGreaterThan(bytes)
  await until(() => statSync(path).size > bytes)
})

test('small writes are copied into the file by their commits, also after a large one', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using storage = await openSqlite({ path })
  const put = (name: string, sealed: string) => storage.secrets.put('ada', { name, description: null, sealed })
  await put('LARGE', 'x'.repeat(2 * 1024 * 1024))
  const before = statSync(path).size
  for (let at = 0; statSync(path).size < before + 4 * 1024 * 1024; at++) {
    expect(at).toBeLessThan(100)
    await put(`SMALL_${at}`, 'x'.repeat(512 * 1024))
  }
})

test('a reserved number is not lost with the write that fails', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  const storage = await openSqlite({ path, busyTimeoutMs: 1 })
  const reserved = await storage.nodes.reserve()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(storage.settings.update('ada', () => '1')).rejects.toMatchObject({ code: 'unavailable' })
  other.close()
  await storage.settings.update('ada', () => '2')
  await storage[Symbol.asyncDispose]()
  await using again = await openSqlite({ path })
  expect(await again.nodes.add()).toBeGreaterThan(reserved)
})
