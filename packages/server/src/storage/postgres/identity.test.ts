import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { nextAppend, owned } from '../../../testing/store-fixtures.ts'
import { openPostgres } from './open.ts'

test('the first start on a restored database raises the epochs of all conversations, and the next one does not', async () => {
  await using database = await testDatabase({ isNew: true })
  const open = () => openPostgres({ url: database.url })
  let row: Awaited<ReturnType<typeof owned>>
  {
    await using storage = await open()
    row = await owned(storage)
  }
  {
    await using storage = await open()
    expect((await storage.conversations.get(row.id))?.epoch).toBe(row.epoch)
  }
  // What a restored dump has: tables that are other ones than those of the last start.
  await database.query(`UPDATE parley.cluster SET identity = 'of another server'`)
  await using storage = await open()
  const raised = (await storage.conversations.get(row.id))!.epoch
  expect(raised).toBeGreaterThan(row.epoch + 1_000_000)
  await expect(storage.conversations.append(nextAppend(row))).rejects.toMatchObject({ details: { reason: 'epoch' } })
  await using again = await open()
  expect((await again.conversations.get(row.id))?.epoch).toBe(raised)
})

test('the epochs stay while a node is alive, because a promoted standby is no restored database', async () => {
  await using database = await testDatabase({ isNew: true })
  const open = () => openPostgres({ url: database.url })
  await using storage = await open()
  const row = await owned(storage)
  await database.query(`UPDATE parley.cluster SET identity = 'of another server'`)
  const { default: pg } = await import('pg')
  const node = new pg.Client({ connectionString: database.url })
  await node.connect()
  await using _end = { [Symbol.asyncDispose]: () => node.end() }
  await node.query(`SELECT pg_advisory_lock(${0x50524c59}, 7)`)
  await using beside = await open()
  await beside.conversations.append(nextAppend(row))
  expect((await beside.conversations.get(row.id))?.epoch).toBe(row.epoch)
})
