/** The coordination of nodes on one database. Each node has a store of its own, and all are in this process. */
import { newConversationId, type ConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openSharedCoordination, type Coordination } from '../../packages/server/src/coordination/index.ts'
import { openPostgres } from '../../packages/server/src/storage/postgres/open.ts'
import type { Storage } from '../../packages/server/src/storage/index.ts'
import { testDatabase, type TestDatabase } from '../../packages/server/testing/postgres.ts'
import { conversation, nextAppend } from '../../packages/server/testing/store-fixtures.ts'
import { until } from '../../packages/server/testing/until.ts'

/** A lease that ends with a test at the earliest, so that nothing is taken over. */
const LONG_MS = 120_000
const SHORT_MS = 1_500

type TestNode = AsyncDisposable & { storage: Storage; coordination: Coordination }

/** A node whose place and address have the same name. */
async function nodeOn(
  database: TestDatabase,
  place: string,
  leaseMs = LONG_MS,
  url = `http://${place}.test`,
): Promise<TestNode> {
  await using stack = new AsyncDisposableStack()
  const storage = stack.use(await openPostgres({ url: database.url, place }))
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined }
  const self = { url, version: '1' }
  const shared = storage.shared!
  const coordination = stack.use(
    await openSharedCoordination({
      storage,
      shared,
      self,
      place,
      leaseMs,
      log: log as never,
      onClaim: () => undefined,
    }),
  )
  const open = stack.move()
  return { storage, coordination, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Creates a conversation of a node; default: one that should run and can move. */
async function made({ storage, coordination }: TestNode, change: Parameters<typeof conversation>[0] = {}) {
  const draft = conversation({ node: coordination.node, status: 'running', ...change })
  await storage.conversations.create(draft)
  return draft.id
}

const never = new AbortController().signal

test('a conversation is claimed by the first node that asks, and every other one learns its address', async () => {
  await using database = await testDatabase()
  await using first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second')
  const id = await made(first, { node: null, status: 'idle' })
  expect(await second.coordination.ownerOf(id)).toEqual({ kind: 'here' })
  expect((await first.storage.conversations.get(id))?.node).toBeNull()
  expect(await second.coordination.claim(id)).toEqual({ kind: 'here' })
  const elsewhere = { kind: 'elsewhere', node: second.coordination.node, url: 'http://second.test' }
  expect(await first.coordination.claim(id)).toEqual(elsewhere)
  expect(await first.coordination.ownerOf(id)).toEqual(elsewhere)
  expect(await first.coordination.claim(newConversationId())).toEqual({ kind: 'unknown' })
}, 60_000)

test('of many claims of one root by several nodes, those of one node succeed', async () => {
  await using database = await testDatabase()
  const nodes = await Promise.all(['a', 'b', 'c'].map((place) => nodeOn(database, place)))
  await using _nodes = {
    [Symbol.asyncDispose]: async () => void (await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))),
  }
  for (let round = 0; round < 10; round += 1) {
    const top = await made(nodes[0]!, { node: null })
    const child = await made(nodes[0]!, { node: null, parent_conversation_id: top, isSubAgent: true })
    const claims = await Promise.all(
      nodes.flatMap(({ coordination }) => [coordination.claim(top), coordination.claim(child)]),
    )
    const here = claims.flatMap(({ kind }, index) => (kind === 'here' ? [Math.floor(index / 2)] : []))
    expect(here).toHaveLength(2)
    expect(new Set(here).size).toBe(1)
  }
}, 60_000)

test('the conversations of a node that has ended are claimed by another one, and its late appends are refused', async () => {
  await using database = await testDatabase()
  const first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second', SHORT_MS)
  const [id, pinned] = [await made(first), await made(first, { place: 'first' })]
  const row = (await first.storage.conversations.get(id))!
  await first.coordination[Symbol.asyncDispose]()
  const claimed = new Set<ConversationId>()
  const claim = async () => {
    for (const each of await second.coordination.claimOrphans(3)) claimed.add(each)
    return claimed.has(id)
  }
  await until(claim)
  const refused = { details: { reason: 'epoch' } }
  await expect(first.storage.conversations.append(nextAppend(row))).rejects.toMatchObject(refused)
  expect(claimed.has(pinned)).toBe(false)
  expect(await second.coordination.claim(pinned)).toEqual({ kind: 'nowhere', place: 'first' })
  await first[Symbol.asyncDispose]()
  // The next process of that directory takes it at once, although its own session is new.
  await using again = await nodeOn(database, 'first')
  expect(await again.coordination.claimOrphans(3)).toEqual([pinned])
}, 60_000)

test('each of the nodes that remain takes its share of the conversations of a node that has ended', async () => {
  await using database = await testDatabase()
  const gone = await nodeOn(database, 'gone')
  await using first = await nodeOn(database, 'first', SHORT_MS)
  await using _second = await nodeOn(database, 'second', SHORT_MS)
  const ids = []
  for (let at = 0; at < 10; at += 1) ids.push(await made(gone))
  await gone[Symbol.asyncDispose]()
  const taken: ConversationId[][] = []
  await until(async () => {
    const claimed = await first.coordination.claimOrphans(100)
    if (claimed.length > 0) taken.push(claimed)
    return taken.flat().length === ids.length
  })
  // Half of those that are left, and never fewer than three.
  expect(taken.map(({ length }) => length)).toEqual([5, 3, 2])
  expect(new Set(taken.flat())).toEqual(new Set(ids))
}, 60_000)

test('a new node takes no conversation of another node that seems to have ended before its session is as old as a lease', async () => {
  await using database = await testDatabase()
  const first = await nodeOn(database, 'first')
  const [id, free] = [await made(first), await made(first, { node: null })]
  await first.coordination[Symbol.asyncDispose]()
  await using second = await nodeOn(database, 'second')
  expect(await second.coordination.claimOrphans(3)).toEqual([free])
  expect(await second.storage.conversations.claim(id, second.coordination.node)).toMatchObject({ kind: 'held' })
  await first[Symbol.asyncDispose]()
}, 60_000)

test('a running conversation that a request claims from a node that has ended is handed to those who look for orphans', async () => {
  await using database = await testDatabase()
  const first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second', SHORT_MS)
  const [id, idle] = [await made(first), await made(first, { status: 'idle' })]
  await first[Symbol.asyncDispose]()
  const found = new Set<ConversationId>()
  using _looking = second.coordination.onOrphans(() => {
    void second.coordination.claimOrphans(0).then((ids) => ids.forEach((each) => found.add(each)))
  })
  expect(await second.coordination.claim(id)).toEqual({ kind: 'here' })
  expect(await second.coordination.claim(idle)).toEqual({ kind: 'here' })
  await until(() => found.size > 0)
  expect([...found]).toEqual([id])
}, 60_000)

test('a node that loses its session keeps its conversations, and begins no effect before it has compared them', async () => {
  await using database = await testDatabase()
  await using first = await nodeOn(database, 'first')
  const id = await made(first)
  const row = (await first.storage.conversations.get(id))!
  await first.coordination.confirm(never)
  const compared = Promise.withResolvers<void>()
  let comparisons = 0
  using _returning = first.coordination.onReturn(() => {
    comparisons += 1
    return compared.promise
  })
  const ofNode = `application_name = 'parley node ${first.coordination.node}'`
  await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofNode}`)
  await until(() => comparisons === 1)
  let isConfirmed = false
  const confirmed = first.coordination.confirm(never).then(() => (isConfirmed = true))
  await first.storage.conversations.append(nextAppend(row))
  expect(isConfirmed).toBe(false)
  compared.resolve()
  await confirmed
  expect(await first.coordination.claim(id)).toEqual({ kind: 'here' })
  expect(await first.storage.conversations.get(id)).toMatchObject({ node: first.coordination.node, epoch: 0 })
}, 60_000)

test('a node that drains claims nothing, sends requests to others, and gives away what can move', async () => {
  await using database = await testDatabase()
  await using first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second')
  const [mine, bound, free] = [
    await made(first),
    await made(first, { place: 'first' }),
    await made(first, { node: null }),
  ]
  let looks = 0
  using _looking = second.coordination.onOrphans(() => (looks += 1))
  await first.coordination.drain()
  expect(await first.coordination.claimOrphans(3)).toEqual([])
  expect(await first.coordination.claim(free)).toMatchObject({ kind: 'elsewhere', url: 'http://second.test' })
  expect(await first.coordination.claim(mine)).toEqual({ kind: 'here' })
  await first.coordination.release([])
  await until(() => looks > 0)
  expect((await second.coordination.claimOrphans(3)).toSorted()).toEqual([mine, free].toSorted())
  expect(await second.coordination.claim(bound)).toMatchObject({ kind: 'elsewhere', url: 'http://first.test' })
  const seen = await second.coordination.nodes()
  expect(seen.map(({ url, drainingAt }) => [url, drainingAt !== null])).toEqual([
    ['http://first.test', true],
    ['http://second.test', false],
  ])
}, 60_000)

test('work with a leader runs on one node, and on another one when that node ends', async () => {
  await using database = await testDatabase()
  const first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second')
  const leading = new Set<string>()
  const work = (name: string) => async (signal: AbortSignal) => {
    leading.add(name)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    leading.delete(name)
  }
  const one = first.coordination.lead('work', work('first'))
  await until(() => leading.size === 1)
  await using _two = second.coordination.lead('work', work('second'))
  expect([...leading]).toEqual(['first'])
  await one[Symbol.asyncDispose]()
  await until(() => leading.has('second'))
  expect([...leading]).toEqual(['second'])
  await first[Symbol.asyncDispose]()
}, 60_000)

test('messages of a topic reach the listeners of other nodes', async () => {
  await using database = await testDatabase()
  await using first = await nodeOn(database, 'first')
  await using second = await nodeOn(database, 'second')
  const told: (string | null)[] = []
  using _listening = second.coordination.on('keys', (subject) => told.push(subject))
  first.coordination.tell('users', 'ada')
  first.coordination.tell('keys', 'k1')
  first.coordination.tell('keys')
  await until(() => told.length > 0)
  expect(told).toEqual([null])
}, 60_000)

test('a copy of a data directory, and a second node with the same address, are refused while the first one runs', async () => {
  await using database = await testDatabase()
  await using _first = await nodeOn(database, 'first')
  const refused = (text: string) => ({ code: 'conflict', message: expect.stringContaining(text) as string })
  const copy = nodeOn(database, 'first', 200, 'http://other.test')
  await expect(copy).rejects.toMatchObject(refused('one is a copy of the other'))
  const twin = nodeOn(database, 'second', 200, 'http://first.test')
  await expect(twin).rejects.toMatchObject(refused('has the same address for other servers, http://first.test'))
}, 60_000)
