import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { openCompletions, type RunEnd } from './callback.ts'
import { openSqlite, openStore, type Storage } from '../storage/index.ts'
import { testDatabase } from '../../testing/postgres.ts'
import { until } from '../../testing/until.ts'

const ID = asConversationId('c1')
const log = { warn: () => undefined, error: () => undefined }
const finished: RunEnd = { execution_status: 'finished', error: null, cost: null }

async function startListener(statuses: number[] = []) {
  const bodies: any[] = []
  const ids: unknown[] = []
  const server = createServer(async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    bodies.push(JSON.parse(text))
    ids.push(incoming.headers['webhook-id'])
    response.writeHead(statuses.shift() ?? 200).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const target = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: null, runId: null }
  return {
    target,
    bodies,
    ids,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const backoff = { baseMs: 5, maxMs: 20 }

/** A node that learns of no other one. */
const nodeAlone = (node: number) => ({ node, onOrphans: () => ({ [Symbol.dispose]: () => undefined }) })

/** A store of callbacks, and the folder of version 0.1.0, which is empty. */
async function openPlace() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const { callbacks: store } = stack.use(await openSqlite({ path: dir.file('parley.db') }))
  const open = stack.move()
  return {
    dir,
    store,
    from: { store, coordination: nodeAlone(1), endOf: async () => null, oldFolder: dir.file('callbacks') },
    noneIsOwed: async () => (await store.owed()).length === 0,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

test('a run that continues after an approval is reported by one completion callback', async () => {
  await using at = await openPlace()
  await using listener = await startListener()
  await using completions = openCompletions({ target: listener.target, ...at.from, log, backoff })
  await completions.began(ID)
  await completions.began(ID)
  await completions.ended(ID, finished)
  await completions.ended(ID, { ...finished, execution_status: 'error' })
  await until(at.noneIsOwed)
  expect(listener.bodies).toEqual([{ status: 'COMPLETED', execution_status: 'finished', conversation_id: ID }])
})

test('a completion callback does not follow a redirect and is sent to the configured address again', async () => {
  await using at = await openPlace()
  await using elsewhere = await startListener()
  let asked = 0
  const moved = createServer((incoming, response) => {
    incoming.resume()
    response.writeHead(asked++ === 0 ? 307 : 200, { location: elsewhere.target.url }).end()
  }).listen(0, '127.0.0.1')
  await once(moved, 'listening')
  const url = `http://127.0.0.1:${(moved.address() as AddressInfo).port}`
  await using completions = openCompletions({
    target: { url, apiKey: 'key-of-the-callback', runId: null },
    ...at.from,
    log,
    backoff,
  })
  await completions.began(ID)
  await completions.ended(ID, finished)
  await until(at.noneIsOwed)
  expect([asked, elsewhere.bodies]).toEqual([2, []])
  moved.closeAllConnections()
  moved.close()
})

test.each([
  ['error', 'it broke'],
  ['stuck', 'again and again'],
  ['paused', null],
  ['deleting', null],
] as const)('%s is no completion', async (execution_status, error) => {
  await using at = await openPlace()
  await using listener = await startListener()
  await using completions = openCompletions({
    target: { ...listener.target, runId: 'r' },
    ...at.from,
    log,
    backoff,
  })
  await completions.began(ID)
  await completions.ended(ID, { execution_status, error, cost: 0.5 })
  await until(() => listener.bodies.length === 1)
  expect(listener.bodies[0]).toEqual({
    status: 'FAILED',
    execution_status,
    conversation_id: ID,
    run_id: 'r',
    cost: 0.5,
    ...(error === null ? {} : { error }),
  })
})

test('a refused completion callback is repeated with the same id and finally parked', async () => {
  await using at = await openPlace()
  await using listener = await startListener([500, 404, 503])
  await using completions = openCompletions({ target: listener.target, ...at.from, log, backoff })
  await completions.began(ID)
  await completions.ended(ID, finished)
  await until(() => listener.bodies.length === 4)
  expect(new Set(listener.ids).size).toBe(1)

  await using deaf = await startListener(Array.from({ length: 50 }, () => 500))
  await using brief = openCompletions({ target: deaf.target, ...at.from, log, backoff, giveUpMs: 20 })
  await brief.began(ID)
  await brief.ended(ID, finished)
  await until(at.noneIsOwed)
  await using listening = await startListener()
  await using next = openCompletions({ target: listening.target, ...at.from, log, backoff })
  await next.recover()
  expect(listening.bodies).toEqual([])
})

test('the next process sends the completion callbacks of a killed one, also for a run whose end was not stored', async () => {
  await using at = await openPlace()
  const [ended, noted, goesOn] = ['c1', 'c2', 'c3'].map(asConversationId) as [typeof ID, typeof ID, typeof ID]
  const nowhere = { url: 'http://127.0.0.1:9', apiKey: null, runId: null }
  {
    await using before = openCompletions({ target: nowhere, ...at.from, log, backoff })
    for (const id of [ended, noted, goesOn]) await before.began(id)
    await before.ended(ended, finished)
  }
  await using listener = await startListener()
  await using after = openCompletions({
    target: listener.target,
    ...at.from,
    coordination: nodeAlone(2),
    endOf: async (id) => (id === noted ? { ...finished, execution_status: 'stuck' } : null),
    log,
    backoff,
  })
  await after.recover()
  await until(() => listener.bodies.length === 2)
  expect(listener.bodies.map((body) => [body.conversation_id, body.status]).toSorted()).toEqual([
    ['c1', 'COMPLETED'],
    ['c2', 'FAILED'],
  ])
  await after.ended(goesOn, finished)
  await until(() => listener.bodies.length === 3)
})

test('the callbacks that version 0.1.0 kept in files are sent, those that it had parked are not, and the files are removed', async () => {
  await using at = await openPlace()
  await using listener = await startListener()
  const { oldFolder } = at.from
  const owed = (id: string, callback: object | null) =>
    JSON.stringify({ id, conversation_id: ID, callback, due_at: callback && new Date().toISOString() })
  await mkdir(oldFolder)
  await writeFile(`${oldFolder}/a.json`, owed('a', { status: 'COMPLETED', conversation_id: ID }))
  await writeFile(`${oldFolder}/b.json.parked`, owed('b', { status: 'FAILED', conversation_id: ID }))
  await using completions = openCompletions({ target: listener.target, ...at.from, log, backoff })
  await completions.recover()
  await until(at.noneIsOwed)
  expect(listener.ids).toEqual(['a'])
  await expect(readdir(oldFolder)).rejects.toMatchObject({ code: 'ENOENT' })
})

/** Nodes on one database. Each holds its lease until its end. */
async function openNodes(target: { url: string; apiKey: null; runId: null }, count: number) {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase())
  const open = async () => stack.use(await openStore({ path: '', databaseUrl: database.url }))
  // The leases are those of other handles, because one that was just opened would not let its own handle take anything.
  const leases = await open()
  const node = async (storage: Storage) => {
    const n = await storage.nodes.add()
    const lease = await leases.shared!.openLease(n, 60_000)
    const listeners = new Set<() => void>()
    const onOrphans = (listener: () => void) => {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    }
    const completions = openCompletions({
      target,
      store: storage.callbacks,
      coordination: { node: n, onOrphans },
      endOf: async () => finished,
      oldFolder: '/nonexistent',
      log,
      backoff: { baseMs: 60_000, maxMs: 60_000 },
    })
    let ending: Promise<void> | undefined
    const end = async () => {
      await completions[Symbol.asyncDispose]()
      await lease[Symbol.asyncDispose]()
    }
    return stack.use({
      completions,
      storage,
      /** What the coordination does when another node may have ended. */
      looks: () => listeners.forEach((listener) => listener()),
      end: () => (ending ??= end()),
      [Symbol.asyncDispose]: () => (ending ??= end()),
    })
  }
  const nodes = []
  while (nodes.length < count) nodes.push(await node(await open()))
  const owned = stack.move()
  return { nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('a node that starts does not send the callbacks of a live node, and sends them when that has ended', async () => {
  await using listener = await startListener([500])
  await using fleet = await openNodes(listener.target, 2)
  const [first, second] = fleet.nodes as [(typeof fleet.nodes)[0], (typeof fleet.nodes)[0]]
  await first.completions.began(ID)
  await first.completions.ended(ID, finished)
  await first.completions.began(asConversationId('c2'))
  await until(() => listener.ids.length === 1)
  await second.completions.recover()
  expect(await second.storage.callbacks.take(99)).toEqual([])
  expect(listener.ids).toHaveLength(1)
  await first.end()
  second.looks()
  await until(async () => (await second.storage.callbacks.owed()).length === 0)
  expect(listener.bodies.map(({ conversation_id }) => conversation_id).toSorted()).toEqual(['c1', 'c1', 'c2'])
  expect(listener.ids.filter((id) => id === listener.ids[0])).toHaveLength(2)
}, 60_000)

test('a run that moves to another node is reported once, by the node where it ends', async () => {
  await using listener = await startListener()
  await using fleet = await openNodes(listener.target, 3)
  const [first, second, third] = fleet.nodes as [
    (typeof fleet.nodes)[0],
    (typeof fleet.nodes)[0],
    (typeof fleet.nodes)[0],
  ]
  await first.completions.began(ID)
  await second.completions.began(ID)
  await second.completions.ended(ID, finished)
  // The first node was stopped meanwhile, and has not noticed that it owns the run no more.
  await first.completions.ended(ID, { ...finished, execution_status: 'error' })
  await until(async () => (await second.storage.callbacks.owed()).length === 0)
  await first.end()
  await third.completions.recover()
  expect(listener.bodies.map(({ status }) => status)).toEqual(['COMPLETED'])
  // A run that began elsewhere and ends without having continued here, such as one whose approval is refused.
  await second.completions.began(ID)
  await third.completions.ended(ID, finished)
  await until(() => listener.bodies.length === 2)
  expect(new Set(listener.ids).size).toBe(2)
}, 60_000)
