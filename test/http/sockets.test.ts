import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edge, KEYS, type Socket, startEdge, type Loose } from './edge.ts'

let edge: Edge
let id: string
let path: string
beforeAll(async () => {
  edge = await startEdge({ respond: async () => ({ text: 'Hello.' }), limits: { authMs: 300 } })
  id = (await edge.start()).id
  path = `/sockets/events/${id}`
  for (const text of ['one', 'two', 'three']) await edge.say(id, text)
})
afterAll(() => edge[Symbol.asyncDispose]())

const header = { 'x-session-api-key': KEYS.ann }
const isSnapshot = (frame: Loose) => frame.kind === 'ConversationStateUpdateEvent' && frame.key === 'full_state'
const textOf = (frame: Loose) => frame.llm_message?.content[0]?.text
const stored = async (of: Edge, conversation: string) =>
  (await of.call('GET', `/api/conversations/${conversation}/events/search`)).json.items

describe('who may listen', () => {
  test.each<[string, string, Record<string, string>]>([
    ['a good key in the query', `?session_api_key=${KEYS.ann}`, {}],
    ['a good key in the header', '', header],
    ['the query wins over the header', `?session_api_key=${KEYS.ann}`, { 'x-session-api-key': 'bad' }],
  ])('%s is taken', async (_, query, headers) => {
    await using socket = edge.socket(path + query, headers)
    expect(isSnapshot(await socket.next())).toBe(true)
  })

  test.each<[string, string, Record<string, string>]>([
    ['a bad key in the query', '?session_api_key=bad', {}],
    ['an empty key in the query, whatever the header says', '?session_api_key=', header],
    ['a bad key in the header', '', { 'x-session-api-key': 'bad' }],
    ['a resend mode that does not exist', '?resend_mode=some', header],
    ['a seq that is none', '?after_seq=x', header],
  ])('%s refuses the handshake', async (_, query, headers) => {
    await using socket = edge.socket(path + query, headers)
    await expect(socket.opened).rejects.toThrow('403')
  })

  test('an id that is none refuses the handshake', async () => {
    await using socket = edge.socket('/sockets/events/xx', header)
    await expect(socket.opened).rejects.toThrow('403')
  })

  test('without a key the first frame introduces the client, and nothing is sent before', async () => {
    await using socket = edge.socket(path)
    await socket.opened
    expect(socket.frames).toEqual([])
    socket.send({ type: 'auth', session_api_key: KEYS.ann })
    expect(isSnapshot(await socket.next())).toBe(true)
  })

  test.each<[string, string | Record<string, unknown> | null]>([
    ['a wrong key', { type: 'auth', session_api_key: 'bad' }],
    ['another type', { type: 'hello', session_api_key: KEYS.ann }],
    ['something that is not JSON', 'hello'],
    ['silence', null],
  ])('%s as first frame closes with 4001', async (_, frame) => {
    await using socket = edge.socket(path)
    await socket.opened
    if (frame !== null) socket.send(frame)
    expect(await socket.closed).toEqual({ code: 4001, reason: 'Authentication failed' })
    expect(socket.frames).toEqual([])
  })

  test('frames that came right behind the introduction are not lost', async () => {
    const { id } = await edge.start()
    await using socket = edge.socket(`/sockets/events/${id}`)
    await socket.opened
    socket.send({ type: 'auth', session_api_key: KEYS.ann })
    socket.send({ role: 'user', content: [{ type: 'text', text: 'early' }] })
    await socket.next((frame) => textOf(frame) === 'early')
  })

  test("an unknown conversation, and someone else's, closes with 4004", async () => {
    for (const [place, key] of [
      [`/sockets/events/${randomUUID()}`, KEYS.ann],
      [path, KEYS.bob],
    ] as const) {
      await using socket = edge.socket(place, { 'x-session-api-key': key })
      expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
    }
  })
})

describe('what existing clients receive', () => {
  test('the state first, then nothing of the past unless asked', async () => {
    await using socket = edge.socket(path, header)
    const first = await socket.next()
    expect(first).toMatchObject({
      kind: 'ConversationStateUpdateEvent',
      key: 'full_state',
      source: 'environment',
      value: { id, execution_status: 'idle' },
    })
    expect(first).not.toHaveProperty('parent_id')
    expect(JSON.stringify(first)).not.toContain('null')
    await edge.say(id, 'live')
    expect(textOf(await socket.next((frame) => frame.kind === 'MessageEvent'))).toBe('live')
  })

  test.each(['resend_mode=all', 'resend_all=true'])(
    '%s resends everything in order, after the state',
    async (query) => {
      await using socket = edge.socket(`${path}?${query}`, header)
      const events = await stored(edge, id)
      expect(isSnapshot(await socket.next())).toBe(true)
      for (const event of events) expect(await socket.next()).toEqual(event)
    },
  )

  test('resend_mode=since resends from a moment on', async () => {
    const events = await stored(edge, id)
    const { timestamp } = events.find((event: Loose) => textOf(event) === 'two')
    await using socket = edge.socket(`${path}?resend_mode=since&after_timestamp=${timestamp}`, header)
    expect(isSnapshot(await socket.next())).toBe(true)
    // Of one millisecond there may be several.
    const since = events.filter((event: Loose) => event.timestamp >= timestamp)
    for (const event of since) expect(await socket.next()).toEqual(event)
  })

  test('a moment to come resends nothing and still follows', async () => {
    await using socket = edge.socket(`${path}?resend_mode=since&after_timestamp=2999-01-01T00:00:00Z`, header)
    await socket.next()
    await edge.say(id, 'after a moment to come')
    expect(textOf(await socket.next((frame) => frame.kind === 'MessageEvent'))).toBe('after a moment to come')
  })

  test('a run shows its deltas, its events, and at the end a state that does not run', async () => {
    const { id } = await edge.start()
    await using socket = edge.socket(`/sockets/events/${id}`, header)
    await socket.next()
    socket.send({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
    const last = await socket.next((frame) => isSnapshot(frame) && frame.value.execution_status !== 'running')
    expect(last.value.execution_status).toBe('finished')
    const kinds = socket.frames.map((frame) => (isSnapshot(frame) ? 'full_state' : frame.kind))
    expect(kinds).toContain('StreamingDeltaEvent')
    const answer = socket.frames.find((frame) => frame.source === 'agent' && frame.kind === 'MessageEvent')
    expect(textOf(answer)).toBe('Hello.')
    expect(socket.frames.indexOf(answer)).toBeLessThan(socket.frames.indexOf(last))
    const delta = socket.frames.find((frame) => frame.kind === 'StreamingDeltaEvent')
    expect(delta).toMatchObject({ id: expect.any(String), timestamp: expect.any(String), source: 'agent' })
  })
})

describe('what a client may say', () => {
  test('what cannot be understood is told to its sender alone, and the socket stays open', async () => {
    await using other = edge.socket(path, header)
    await other.next()
    await using socket = edge.socket(path, header)
    await socket.next()
    for (const [frame, code] of [
      ['{', 'JSONDecodeError'],
      [{ role: 'robot' }, 'ValidationError'],
      [{ role: 'system' }, 'AssertionError'],
    ] as const) {
      socket.send(frame)
      expect(await socket.next()).toMatchObject({ kind: 'ServerErrorEvent', code, source: 'environment' })
    }
    socket.ws.send(Buffer.from('{}'))
    expect(await socket.next()).toMatchObject({ code: 'KeyError' })
    socket.send({ type: 'auth', session_api_key: 'whatever' })
    await edge.say(id, 'still here')
    expect(textOf(await socket.next())).toBe('still here')
    expect(textOf(await other.next())).toBe('still here')
  })

  test('a read-only key listens and does not speak', async () => {
    await using socket = edge.socket(path, { 'x-session-api-key': KEYS.reader })
    await socket.next()
    socket.send({ role: 'user', content: [] })
    expect(await socket.next()).toMatchObject({ kind: 'ServerErrorEvent', code: 'PermissionError' })
  })
})

describe('our own frames', () => {
  const seqs = (socket: Socket) => socket.frames.filter(({ type }) => type === 'event').map(({ seq }) => seq)

  test('every event comes once, in order, wherever the reader begins', async () => {
    const total = (await stored(edge, id)).length
    for (const after of [0, 1, total]) {
      await using socket = edge.socket(`${path}?after_seq=${after}`, header)
      expect(await socket.next()).toMatchObject({ type: 'snapshot', seq: expect.any(Number), state: { id } })
      await edge.say(id, `after ${after}`)
      await socket.next((frame) => textOf(frame.event ?? {}) === `after ${after}`)
      const found = seqs(socket)
      expect(found).toEqual(Array.from({ length: found.length }, (_, at) => after + 1 + at))
    }
  })

  test('readers that come and go in the middle of a flood miss nothing and see nothing twice', async () => {
    const { id } = await edge.start()
    const place = `/sockets/events/${id}`
    const messages = 60
    const flood = (async () => {
      for (let n = 0; n < messages; n++) await edge.say(id, `m${n}`)
    })()
    const read = async () => {
      const found: number[] = []
      const texts: string[] = []
      while (texts.at(-1) !== `m${messages - 1}`) {
        await using socket = edge.socket(`${place}?after_seq=${found.length}`, header)
        for (let taken = 0; taken < 13 && texts.at(-1) !== `m${messages - 1}`; taken++) {
          const frame = await socket.next(({ type }) => type === 'event')
          found.push(frame.seq)
          if (textOf(frame.event) !== undefined) texts.push(textOf(frame.event))
        }
      }
      expect(found).toEqual(found.map((_, at) => at + 1))
      expect(texts).toEqual(Array.from({ length: messages }, (_, n) => `m${n}`))
    }
    await Promise.all([flood, read(), read(), read()])
  })
})

describe('how a connection ends', () => {
  test('a deleted conversation says goodbye with 4004', async () => {
    const { id } = await edge.start()
    await using bare = edge.socket(`/sockets/events/${id}`, header)
    await using sequenced = edge.socket(`/sockets/events/${id}?after_seq=0`, header)
    await Promise.all([bare.next(), sequenced.next()])
    await edge.call('DELETE', `/api/conversations/${id}`)
    expect(await bare.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
    expect((await sequenced.closed).code).toBe(4004)
    expect(sequenced.frames.at(-1)).toEqual({ type: 'refused', reason: 'Conversation not found' })
  })

  test('one reader too many is told to come back later, and may when another has gone', async () => {
    await using small = await startEdge({ limits: { maxPerConversation: 2 } })
    const { id } = await small.start()
    const listen = () => small.socket(`/sockets/events/${id}`, header)
    await using first = listen()
    await using second = listen()
    await Promise.all([first.next(), second.next()])
    await using third = listen()
    expect(await third.closed).toEqual({ code: 1013, reason: 'Too many connections for this conversation' })
    first.ws.close()
    await first.closed
    await using fourth = listen()
    expect(isSnapshot(await fourth.next())).toBe(true)
  })

  test('a server that goes away says 1012 and waits for its readers', async () => {
    const short = await startEdge()
    await using _server = short
    const { id } = await short.start()
    await using socket = short.socket(`/sockets/events/${id}`, header)
    await socket.next()
    await short.close()
    expect((await socket.closed).code).toBe(1012)
    await expect(fetch(short.url)).rejects.toThrow()
  })

  test('a peer that does not answer pings is let go, one that does stays', async () => {
    await using quick = await startEdge({ limits: { pingMs: 100 } })
    const { id } = await quick.start()
    await using lively = quick.socket(`/sockets/events/${id}`, header)
    await lively.next()
    await using deaf = quick.socket(`/sockets/events/${id}`, header)
    await deaf.next()
    deaf.ws.pong = () => {}
    const pings = new Promise((resolve) => lively.ws.on('ping', resolve))
    deaf.ws.removeAllListeners('ping')
    ;(deaf.ws as unknown as { _receiver: { removeAllListeners(name: string): void } })._receiver.removeAllListeners(
      'ping',
    )
    expect((await deaf.closed).code).toBe(1006)
    await pings
    await quick.say(id, 'still here')
    await lively.next((frame) => textOf(frame) === 'still here')
  })

  test('a reader that takes nothing is cut off, delays nobody, and comes back by seq', async () => {
    await using quick = await startEdge({ limits: { stallMs: 400 }, bodyLimitBytes: 16 * 1024 * 1024 })
    const { id } = await quick.start()
    await using slow = quick.socket(`/sockets/events/${id}?after_seq=0`, header)
    await slow.next()
    slow.ws.pause()
    await using fast = quick.socket(`/sockets/events/${id}?after_seq=0`, header)
    const text = 'x'.repeat(1024 * 1024)
    const count = 12
    for (let n = 0; n < count; n++) await quick.say(id, `${n}:${text}`)
    for (let n = 0; n < count; n++) await fast.next(({ event }) => textOf(event ?? {})?.startsWith(`${n}:`))
    // Past the silence allowed, the server has let go: reading on ends before everything has come.
    while ((await quick.call('GET', '/server_info')).json.idle_time < 1) await sleep(50)
    slow.ws.resume()
    const { code } = await slow.closed
    expect([1006, 1013]).toContain(code)
    const last = slow.frames.findLast(({ type }) => type === 'event')?.seq ?? 0
    await using again = quick.socket(`/sockets/events/${id}?after_seq=${last}`, header)
    await again.next(({ event }) => textOf(event ?? {})?.startsWith(`${count - 1}:`))
    const seqs = again.frames.filter(({ type }) => type === 'event').map(({ seq }) => seq)
    expect(seqs).toEqual(seqs.map((_, at) => last + 1 + at))
  })
})

describe('a server without keys', () => {
  test('takes whoever is on this machine, and no page of another site', async () => {
    await using open = await startEdge({ open: true })
    const { json } = await open.call('POST', '/api/conversations', {}, { key: null })
    const place = `/sockets/events/${json.conversation_id}`
    await using socket = open.socket(place)
    expect(isSnapshot(await socket.next())).toBe(true)
    await using stranger = open.socket(place, { origin: 'https://evil.example' })
    await expect(stranger.opened).rejects.toThrow('403')
    const posted = await open.call(
      'POST',
      '/api/conversations',
      {},
      { key: null, headers: { origin: 'https://evil.example' } },
    )
    expect(posted.status).toBe(403)
  })
})
