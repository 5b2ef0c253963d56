import { DatabaseSync } from 'node:sqlite'
import { newConversationId, newEventId, type Event } from '@parley/protocol'
import { expect, test } from 'vitest'
import { conversation, message, numbered } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { openSqlite } from '../index.ts'

const root = message('Where is the Café?', { source: 'user' })
const call = {
  ...message(''),
  kind: 'ActionEvent',
  parent_id: root.id,
  tool_name: 'terminal',
  thought: [{ type: 'text', text: 'I Look' }],
  tool_call: { id: 'c', name: 'terminal', arguments: '{"command":"LS"}' },
} as unknown as Event
const result = {
  kind: 'ObservationEvent',
  id: newEventId(),
  timestamp: '2026-01-01T00:00:00.000000',
  source: 'environment',
  parent_id: call.id,
  tool_name: 'terminal',
  observation: {
    is_error: true,
    content: [
      { type: 'text', text: 'No Such File' },
      { type: 'image', image_urls: [] },
    ],
  },
} as unknown as Event
const control = {
  kind: 'StatusChangedEvent',
  id: newEventId(),
  timestamp: '2026-01-01T00:00:00.000000',
  source: 'environment',
} as unknown as Event

const columnsOf = (path: string) => {
  using database = new DatabaseSync(path)
  return database
    .prepare('SELECT seq, parent_seq, tool, size, flags, text FROM events ORDER BY conversation, seq')
    .all()
}
/** Empties the computed columns, as the migration of an older store leaves them. */
const forget = (path: string) => {
  using database = new DatabaseSync(path)
  database.exec(`UPDATE events SET parent_seq = NULL, refers_seq = NULL, tool = NULL, size = NULL, flags = NULL, text = NULL;
    INSERT INTO event_backfill SELECT min(n), max(n) FROM events`)
}
const isFilled = (path: string) => {
  using database = new DatabaseSync(path)
  return database.prepare('SELECT 1 FROM event_backfill').get() === undefined
}

test('an event is stored with its parent, tool, size, flags and searchable text', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using storage = await openSqlite({ path })
  await storage.conversations.create(conversation({ events: numbered([root, call, result, control]) }))
  const size = (event: Event) => Buffer.byteLength(JSON.stringify(event))
  const text = columnsOf(path)[1]!['text']
  expect(text).toContain('i look')
  expect(text).toContain('{"command":"ls"}')
  expect(columnsOf(path)).toMatchObject([
    { seq: 1, parent_seq: null, tool: null, size: size(root), flags: 129, text: 'where is the café?' },
    { seq: 2, parent_seq: 1, tool: 'terminal', size: size(call), flags: 129 },
    { seq: 3, parent_seq: 2, tool: 'terminal', size: size(result), flags: 135, text: 'no such file' },
    { seq: 4, parent_seq: null, tool: null, size: size(control), flags: 128, text: null },
  ])
})

test('the columns of events of an older version are filled after a start, also around a row that holds no event', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  const many = Array.from({ length: 500 }, (_, index) => message(`Message ${index}`))
  {
    await using storage = await openSqlite({ path })
    for (const events of [[root, call, result, control], many, [message('damaged')]])
      await storage.conversations.create(conversation({ events: numbered(events) }))
  }
  {
    using database = new DatabaseSync(path)
    database.exec(`UPDATE events SET event = '{' WHERE text = 'damaged'`)
  }
  const before = columnsOf(path)
  forget(path)
  await using storage = await openSqlite({ path })
  await until(() => isFilled(path))
  expect(columnsOf(path).slice(0, -1)).toEqual(before.slice(0, -1))
  expect(columnsOf(path).at(-1)).toMatchObject({ size: 1, flags: 128, text: null })
  expect(await storage.conversations.get(newConversationId())).toBeNull()
})

test('a search finds the messages of an older version before their columns are filled, in pages too', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  const log = conversation({
    events: numbered(Array.from({ length: 600 }, (_, index) => message(index % 10 === 3 ? `Needle ${index}` : 'Hay'))),
  })
  {
    await using storage = await openSqlite({ path })
    await storage.conversations.create(log)
  }
  const expected = Array.from({ length: 60 }, (_, index) => index * 10 + 4)
  for (const isOld of [true, false]) {
    if (isOld) forget(path)
    await using storage = await openSqlite({ path })
    if (!isOld) await until(() => isFilled(path))
    const filter = { body: 'nEEDLE' }
    const found = await storage.events.page(log.id, { limit: 100, filter })
    expect(found.map(({ seq }) => seq)).toEqual(expected)
    const last = await storage.events.page(log.id, { limit: 3, order: 'desc', filter })
    expect(last.map(({ seq }) => seq)).toEqual(expected.slice(-3).toReversed())
    const next = await storage.events.page(log.id, { limit: 2, from: expected[20]! + 1, filter })
    expect(next.map(({ seq }) => seq)).toEqual(expected.slice(21, 23))
    expect(await storage.events.count(log.id, filter)).toBe(60)
  }
})

test('an outline shows the events of an older version before their columns are filled', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  const log = conversation({ events: numbered([root, call, result, control]) })
  const all = { after: 0, before: 100, limit: 100 }
  {
    await using storage = await openSqlite({ path })
    await storage.conversations.create(log)
  }
  forget(path)
  {
    using database = new DatabaseSync(path)
    database.exec('DELETE FROM event_backfill')
  }
  await using storage = await openSqlite({ path })
  const outline = await storage.events.outline(log.id, all)
  expect(outline).toMatchObject({ parent: [0, 1, 1, 0], refers: [0, 0, 0, 0] })
  expect(outline.types[2]).toEqual({
    kind: 'ObservationEvent',
    source: 'environment',
    tool: 'terminal',
    error: true,
    images: true,
  })
  expect(await storage.events.outline(log.id, all)).toEqual(outline)
})

test('a search through a long log gives way to other work', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const log = conversation({ events: numbered(Array.from({ length: 30_000 }, () => message('some text '.repeat(20)))) })
  await storage.conversations.create(log)
  for (const search of [
    () => storage.events.page(log.id, { limit: 5, filter: { body: 'needle' } }),
    () => storage.events.page(log.id, { limit: 5, order: 'desc', filter: { timestampLt: '2000' } }),
    () => storage.events.count(log.id, { body: 'needle' }),
    () => storage.events.newest(log.id, 'ApprovalEvent', 5),
  ]) {
    let turns = 0
    let isDone = false
    const turn = () => {
      turns += 1
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    const found = await search()
    isDone = true
    expect(found).toSatisfy((value) => value === 0 || (Array.isArray(value) && value.length === 0))
    // A slice has 4,096 events at most.
    expect(turns).toBeGreaterThan(6)
  }
})
