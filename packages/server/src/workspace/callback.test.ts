import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { openCompletions, type RunEnd } from './callback.ts'
import { openSqlite } from '../storage/index.ts'
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

/** A store of callbacks, and the folder of version 0.1.0, which is empty. */
async function openPlace() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const { callbacks: store } = stack.use(await openSqlite({ path: dir.file('parley.db') }))
  const open = stack.move()
  return {
    dir,
    store,
    from: { store, oldFolder: dir.file('callbacks') },
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
  await next.recover(async () => null)
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
  await using after = openCompletions({ target: listener.target, ...at.from, log, backoff })
  await after.recover(async (id) => (id === noted ? { ...finished, execution_status: 'stuck' } : null))
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
  await completions.recover(async () => null)
  await until(at.noneIsOwed)
  expect(listener.ids).toEqual(['a'])
  await expect(readdir(oldFolder)).rejects.toMatchObject({ code: 'ENOENT' })
})
