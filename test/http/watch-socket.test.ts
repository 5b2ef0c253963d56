/** The socket of pages: `/sockets/watch`. Source: docs/events.md, One socket for many conversations. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'

let edge: KeyedServer
beforeAll(async () => {
  edge = await startKeyedServer({ respond: async () => ({ text: 'Hello.' }) })
})
afterAll(() => edge[Symbol.asyncDispose]())

const header = (key: string = KEYS.ann) => ({ 'x-session-api-key': key })
const open = async (key?: string) => {
  const socket = edge.socket('/sockets/watch', header(key))
  await socket.opened
  return socket
}
const of = (id: string, type: string) => (frame: Loose) => frame.conversation_id === id && frame.type === type
/** A socket with the feed, and the number that it begins with. */
const openFeed = async (key?: string) => {
  const socket = await open(key)
  socket.send({ subscribe: 'feed' })
  const { n } = await socket.next(({ type }) => type === 'lists')
  return { socket, n: n as number }
}

test('a watch socket carries the numbered frames of several conversations, each frame with its conversation first', async () => {
  const [{ id: first }, { id: second }] = [await edge.start(), await edge.start()]
  await using socket = await open()
  socket.send({ subscribe: { conversation: first } })
  socket.send({ subscribe: { conversation: second.replaceAll('-', '').toUpperCase(), after_seq: 1 } })
  expect(await socket.next(of(first, 'event'))).toMatchObject({ seq: 1, event: { id: expect.any(String) } })
  expect(await socket.next(of(second, 'event'))).toMatchObject({ seq: 2 })
  await edge.say(first, 'go', true)
  await socket.next((frame) => of(first, 'snapshot')(frame) && frame.state.execution_status === 'finished')
  const seqs = socket.frames.filter(of(first, 'event')).map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(Object.keys(socket.frames.find(of(first, 'delta')) ?? {})[0]).toBe('conversation_id')
})

test('a watch socket takes the key in its first frame, and closes with 4001 for a wrong one', async () => {
  await using socket = edge.socket('/sockets/watch')
  await socket.opened
  socket.send({ type: 'auth', session_api_key: KEYS.ann })
  socket.send({ subscribe: 'feed' })
  expect(await socket.next()).toMatchObject({ type: 'lists', n: expect.any(Number) })
  await using wrong = edge.socket('/sockets/watch')
  await wrong.opened
  wrong.send({ type: 'auth', session_api_key: 'another key' })
  expect(await wrong.closed).toMatchObject({ code: 4001 })
})

test('an ended subscription sends nothing more, and another one resumes after its seq', async () => {
  const { id } = await edge.start()
  const { id: other } = await edge.start()
  await using socket = await open()
  socket.send({ subscribe: { conversation: id } })
  await socket.next(of(id, 'snapshot'))
  socket.send({ unsubscribe: { conversation: id } })
  // Frames are handled in order, so the answer to this one comes after the end of the subscription.
  socket.send({ subscribe: { conversation: other } })
  await socket.next(of(other, 'snapshot'))
  const last = Math.max(0, ...socket.frames.filter(of(id, 'event')).map(({ seq }) => seq))
  await edge.say(id, 'unheard')
  await edge.say(other, 'heard')
  const text = (frame: Loose) => JSON.stringify(frame.event ?? null)
  await socket.next((frame) => text(frame).includes('"heard"'))
  expect(socket.frames.some((frame) => text(frame).includes('unheard'))).toBe(false)
  socket.send({ subscribe: { conversation: id, after_seq: last } })
  expect(await socket.next((frame) => of(id, 'event')(frame) && text(frame).includes('unheard'))).toBeDefined()
})

test("another user's conversation ends a subscription like an unknown one, and others continue", async () => {
  const { id } = await edge.start()
  await using socket = await open(KEYS.bob)
  for (const sought of [id, randomUUID()]) {
    socket.send({ subscribe: { conversation: sought } })
    expect(await socket.next()).toEqual({
      type: 'ended',
      conversation_id: sought,
      code: 4004,
      reason: 'Conversation not found',
    })
  }
  socket.send({ subscribe: 'feed' })
  expect(await socket.next()).toMatchObject({ type: 'lists' })
})

test('a deleted conversation ends its subscription with 4004', async () => {
  const { id } = await edge.start()
  await using socket = await open()
  socket.send({ subscribe: { conversation: id } })
  await socket.next(of(id, 'snapshot'))
  await edge.call('DELETE', `/api/conversations/${id}`)
  expect(await socket.next(of(id, 'ended'))).toMatchObject({ code: 4004 })
})

test('a frame that cannot be read is answered with its fault, and the socket stays open', async () => {
  await using socket = await open()
  const faults: [unknown, RegExp][] = [
    ['{', /^Not JSON: /],
    [{}, /Send \{"subscribe"/],
    [{ subscribe: 'feed', unsubscribe: 'feed' }, /Send \{"subscribe"/],
    [{ subscribe: 'everything' }, /subscribe/],
    [{ subscribe: 'feed', after: -1 }, /^after: /],
    [{ subscribe: { conversation: 'x' } }, /subscribe\.conversation: /],
    [{ subscribe: { conversation: randomUUID(), after_seq: 1.5 } }, /subscribe\.after_seq: /],
    [{ unsubscribe: {} }, /unsubscribe\.conversation: /],
  ]
  for (const [frame, fault] of faults) {
    socket.send(frame)
    expect(await socket.next()).toEqual({ type: 'problem', detail: expect.stringMatching(fault) })
  }
  socket.send({ subscribe: 'feed' })
  expect(await socket.next()).toMatchObject({ type: 'lists' })
})

test('a watch socket has at most 64 subscriptions, and a place is free again after the end of one', async () => {
  const ids: string[] = []
  for (let count = 0; count < 65; count += 1) ids.push((await edge.start()).id)
  await using socket = await open()
  for (const conversation of ids.slice(0, 64)) socket.send({ subscribe: { conversation } })
  for (const id of ids.slice(0, 64)) await expect(snapshotOf(socket, id)).resolves.toBeDefined()
  socket.send({ subscribe: { conversation: ids[64] } })
  expect(await socket.next(({ type }) => type === 'problem')).toMatchObject({ detail: expect.stringContaining('64') })
  socket.send({ unsubscribe: { conversation: ids[0] } })
  socket.send({ subscribe: { conversation: ids[64] } })
  await socket.next(of(ids[64]!, 'snapshot'))
}, 60_000)

/** Snapshots arrive in any order. */
const snapshotOf = async (socket: Awaited<ReturnType<typeof open>>, id: string) =>
  socket.frames.find(of(id, 'snapshot')) ?? (await socket.next(of(id, 'snapshot')))

test('the feed reports what changes in every conversation of the user, and nothing of another user', async () => {
  const ann = await openFeed()
  const bob = await openFeed(KEYS.bob)
  await using mine = ann.socket
  await using theirs = bob.socket
  const { id } = await edge.start()
  expect(await mine.next(of(id, 'changed'))).toMatchObject({
    n: expect.any(Number),
    title: null,
    approval: null,
    cost: 0,
    parent_conversation_id: null,
    updated_at: expect.any(String),
  })
  await edge.say(id, 'go', true)
  const end = await mine.next((frame) => of(id, 'changed')(frame) && frame.execution_status === 'finished')
  expect(end.seq).toBeGreaterThan(3)
  await edge.call('PATCH', `/api/conversations/${id}`, { title: 'A second title' })
  await mine.next((frame) => frame.title === 'A second title')
  await edge.call('DELETE', `/api/conversations/${id}`)
  expect(await mine.next(of(id, 'deleted'))).toEqual({
    type: 'deleted',
    n: expect.any(Number),
    conversation_id: id,
  })
  const numbers = mine.frames.map(({ n }) => n)
  expect(numbers).toEqual([...numbers].toSorted((a, b) => a - b))
  // A change of his own comes after all that he could have received.
  expect((await edge.call('POST', '/api/conversations', {}, { key: KEYS.bob })).status).toBe(200)
  await theirs.next(({ type }) => type === 'changed')
  expect(JSON.stringify(theirs.frames)).not.toContain(id)
})

test('a feed resumes after its number with the newest form of what was missed, and says when that is not kept any more', async () => {
  const before = await openFeed()
  await before.socket[Symbol.asyncDispose]()
  const { id } = await edge.start()
  await edge.call('PATCH', `/api/conversations/${id}`, { title: 'While away' })
  await using socket = await open()
  socket.send({ subscribe: 'feed', after: before.n })
  expect(await socket.next()).toEqual({ type: 'resumed', n: before.n })
  expect(await socket.next()).toMatchObject({ type: 'changed', conversation_id: id, title: 'While away' })
  await using ahead = await open()
  ahead.send({ subscribe: 'feed', after: 10_000_000 })
  expect(await ahead.next()).toMatchObject({ type: 'lists' })
})
