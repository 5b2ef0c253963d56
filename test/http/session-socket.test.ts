import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { until } from '../../packages/server/testing/until.ts'

let edge: KeyedServer
let id: string
beforeAll(async () => {
  edge = await startKeyedServer({ respond: async () => ({ text: 'Hello.' }) })
  id = (await edge.start()).id
  for (const text of ['one', 'two', 'three']) await edge.say(id, text)
  // Messages enter the log when the start has ended; no event follows them.
  await until(async () => {
    const { items } = (await edge.call('GET', `/api/conversations/${id}/events/search?limit=100`)).json
    return items.filter(({ kind }: Loose) => kind === 'MessageEvent').length === 3
  })
})
afterAll(() => edge[Symbol.asyncDispose]())

const header = { 'x-session-api-key': KEYS.ann }
const place = (query = '') => `/sockets/session/${id}${query}`

test('the session socket sends each event after the requested seq once, with its seq', async () => {
  await using socket = edge.socket(place('?after_seq=2'), header)
  const snapshot = await socket.next()
  expect(snapshot).toMatchObject({ type: 'snapshot', state: { id } })
  const total = snapshot.seq
  // Three messages and their prompt, at least.
  expect(total).toBeGreaterThan(4)
  for (let seq = 3; seq <= total; seq++)
    expect(await socket.next()).toMatchObject({ type: 'event', seq, event: { id: expect.any(String) } })
  await edge.say(id, 'live')
  expect(await socket.next((frame) => frame.type === 'event')).toMatchObject({ seq: total + 1 })
})

test('the session socket without a seq begins with the first event', async () => {
  await using socket = edge.socket(place(), header)
  expect(await socket.next((frame: Loose) => frame.type === 'event')).toMatchObject({ seq: 1 })
})

test('the session socket sends the deltas and the end of a run in sequenced frames', async () => {
  const { id: other } = await edge.start()
  await using socket = edge.socket(`/sockets/session/${other}?after_seq=0`, header)
  await socket.next()
  socket.send({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
  await socket.next((frame) => frame.type === 'snapshot' && frame.state.execution_status === 'finished')
  expect([...new Set(socket.frames.map(({ type }) => type))].toSorted()).toEqual(['delta', 'event', 'snapshot'])
  expect(socket.frames.every(({ kind }) => kind === undefined)).toBe(true)
})

test('a session socket that joins in the middle of an answer gets the answer so far; other streams do not', async () => {
  const command = 'x'.repeat(2000)
  await using slow = await startKeyedServer({
    respond: async () => ({
      text: 'This text is complete.',
      toolCalls: [{ name: 'terminal', arguments: { command } }],
      hang: 'body',
    }),
  })
  const { id: other } = await slow.start({ agent: { ...slow.agent, tools: [{ name: 'terminal' }] } })
  await using first = slow.socket(`/sockets/session/${other}`, header)
  await first.next()
  await slow.say(other, 'go', true)
  const call = await first.next((frame) => frame.type === 'tool_call' && frame.chars > 0)
  const deltas = first.frames.filter(({ type }) => type === 'delta')
  expect(deltas.map(({ content }) => content).join('')).toBe('This text is complete.')
  let offset = 0
  for (const delta of deltas) {
    expect(delta).toMatchObject({ response_id: call.response_id, part: 0, offset })
    offset += delta.content.length
  }
  await using late = slow.socket(`/sockets/session/${other}`, header)
  const partial = await late.next((frame) => frame.type === 'partial')
  expect(partial).toMatchObject({
    response_id: call.response_id,
    parts: [{ part: 0, kind: 'content', offset: 0, text: 'This text is complete.' }],
    tool_calls: [{ index: 0, name: 'terminal' }],
  })
  expect(partial.tool_calls[0].chars).toBeGreaterThanOrEqual(call.chars)
  await using sequenced = slow.socket(`/sockets/events/${other}?after_seq=0`, header)
  await using bare = slow.socket(`/sockets/events/${other}`, header)
  for (const each of [sequenced, bare]) await each.next()
  await slow.call('POST', `/api/conversations/${other}/interrupt`)
  await sequenced.next((frame) => frame.event?.kind === 'InterruptEvent')
  await bare.next((frame) => frame.kind === 'InterruptEvent')
  expect(sequenced.frames.filter(({ type }) => !['event', 'snapshot', 'delta'].includes(type))).toEqual([])
  expect(bare.frames.filter(({ kind }) => kind === undefined)).toEqual([])
}, 30_000)

test('a session socket shows the masked output of a command while it runs, also to a client that joins late', async () => {
  const command = 'echo begun with $MY_TOKEN; until [ -e go ]; do sleep 0.05; done; echo over'
  await using slow = await startKeyedServer({
    respond: async ({ view }) =>
      view.tools.length > 0 && view.toolResults.length === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command } }] }
        : { text: 'done' },
  })
  const { id: other, workspace } = await slow.start({
    agent: { ...slow.agent, tools: [{ name: 'terminal' }] },
    secrets: { MY_TOKEN: { kind: 'StaticSecret', value: 'tok-1234567890' } },
  })
  await using first = slow.socket(`/sockets/session/${other}`, header)
  await first.next()
  await slow.say(other, 'run', true)
  const early = await first.next((frame) => frame.type === 'output')
  expect(early).toMatchObject({ stream: 'stdout', offset: 0, text: 'begun with <secret-hidden>\n' })
  const action = first.frames.find(({ event }) => event?.kind === 'ActionEvent').event
  expect(early.action_id).toBe(action.id)
  await using late = slow.socket(`/sockets/session/${other}`, header)
  expect(await late.next((frame) => frame.type === 'output')).toEqual(early)
  await writeFile(join(workspace.working_dir, 'go'), '')
  for (const socket of [first, late]) {
    expect(await socket.next((frame) => frame.type === 'output')).toMatchObject({
      offset: early.text.length,
      text: 'over\n',
    })
    const { event } = await socket.next((frame) => frame.event?.kind === 'ObservationEvent')
    expect(event.observation.content[0].text).toContain('begun with <secret-hidden>')
  }
}, 30_000)

test.each<[string, string, Record<string, string>]>([
  ['a place that is none', '?after_seq=x', header],
  ['a wrong key', '?after_seq=0&session_api_key=bad', header],
])('the session socket refuses a handshake with %s', async (_, query, headers) => {
  await using socket = edge.socket(place(query), headers)
  await expect(socket.opened).rejects.toThrow('403')
})

test('the first frame of a session socket may present the key', async () => {
  await using socket = edge.socket(place('?after_seq=0'))
  await socket.opened
  socket.send({ type: 'auth', session_api_key: KEYS.ann })
  expect(await socket.next()).toMatchObject({ type: 'snapshot' })
})

test("a session socket for another user's conversation is closed as unknown", async () => {
  await using socket = edge.socket(place(), { 'x-session-api-key': KEYS.bob })
  expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
})
