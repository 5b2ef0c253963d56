import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Edge, KEYS, type Loose, startEdge } from './edge.ts'

let edge: Edge
let id: string
beforeAll(async () => {
  edge = await startEdge({ respond: async () => ({ text: 'Hello.' }) })
  id = (await edge.start()).id
  for (const text of ['one', 'two', 'three']) await edge.say(id, text)
})
afterAll(() => edge[Symbol.asyncDispose]())

const header = { 'x-session-api-key': KEYS.ann }
const place = (query = '') => `/sockets/session/${id}${query}`
const count = async () => (await edge.call('GET', `/api/conversations/${id}/events/count`)).json as number

test('everything after the place that is named, each once, with its place', async () => {
  const total = await count()
  await using socket = edge.socket(place('?after_seq=2'), header)
  expect(await socket.next()).toMatchObject({ type: 'snapshot', seq: total, state: { id } })
  for (let seq = 3; seq <= total; seq++)
    expect(await socket.next()).toMatchObject({ type: 'event', seq, event: { id: expect.any(String) } })
  await edge.say(id, 'live')
  expect(await socket.next((frame) => frame.type === 'event')).toMatchObject({ seq: total + 1 })
})

test('without a place it begins at the beginning', async () => {
  await using socket = edge.socket(place(), header)
  expect(await socket.next((frame: Loose) => frame.type === 'event')).toMatchObject({ seq: 1 })
})

test('a run shows its pieces and its end in the same frames', async () => {
  const { id: other } = await edge.start()
  await using socket = edge.socket(`/sockets/session/${other}?after_seq=0`, header)
  await socket.next()
  socket.send({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
  await socket.next((frame) => frame.type === 'snapshot' && frame.state.execution_status === 'finished')
  expect([...new Set(socket.frames.map(({ type }) => type))].toSorted()).toEqual(['delta', 'event', 'snapshot'])
  expect(socket.frames.every(({ kind }) => kind === undefined)).toBe(true)
})

test.each<[string, string, Record<string, string>]>([
  ['a place that is none', '?after_seq=x', header],
  ['a wrong key', '?after_seq=0&session_api_key=bad', header],
])('%s refuses the handshake', async (_, query, headers) => {
  await using socket = edge.socket(place(query), headers)
  await expect(socket.opened).rejects.toThrow('403')
})

test('the first frame may introduce the client', async () => {
  await using socket = edge.socket(place('?after_seq=0'))
  await socket.opened
  socket.send({ type: 'auth', session_api_key: KEYS.ann })
  expect(await socket.next()).toMatchObject({ type: 'snapshot' })
})

test("somebody else's conversation is closed as unknown", async () => {
  await using socket = edge.socket(place(), { 'x-session-api-key': KEYS.bob })
  expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
})
