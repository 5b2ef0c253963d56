import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import type { Socket } from '../../packages/server/testing/socket.ts'

let edge: KeyedServer
let id: string
let path: string
beforeAll(async () => {
  edge = await startKeyedServer({
    respond: async () => ({ text: 'Hello.' }),
    overrides: { liveLimits: { authMs: 300 } },
  })
  id = (await edge.start()).id
  path = `/sockets/events/${id}`
  for (const text of ['one', 'two', 'three']) await edge.say(id, text)
})
afterAll(() => edge[Symbol.asyncDispose]())

const header = { 'x-session-api-key': KEYS.ann }
const isSnapshot = (frame: Loose) => frame.kind === 'ConversationStateUpdateEvent' && frame.key === 'full_state'
const textOf = (frame: Loose) => frame.llm_message?.content[0]?.text
const stored = async (of: KeyedServer, conversation: string) =>
  (await of.call('GET', `/api/conversations/${conversation}/events/search`)).json.items

describe('handshake', () => {
  test.each<[string, string, Record<string, string>]>([
    ['a good key in the query', `?session_api_key=${KEYS.ann}`, {}],
    ['a good key in the header', '', header],
    ['the query wins over the header', `?session_api_key=${KEYS.ann}`, { 'x-session-api-key': 'bad' }],
  ])('the events socket accepts %s', async (_, query, headers) => {
    await using socket = edge.socket(path + query, headers)
    expect(isSnapshot(await socket.next())).toBe(true)
  })

  test.each<[string, string, Record<string, string>]>([
    ['a bad key in the query', '?session_api_key=bad', {}],
    ['an empty key in the query, whatever the header says', '?session_api_key=', header],
    ['a bad key in the header', '', { 'x-session-api-key': 'bad' }],
    ['a resend mode that does not exist', '?resend_mode=some', header],
    ['a seq that is none', '?after_seq=x', header],
  ])('the events socket refuses a handshake with %s', async (_, query, headers) => {
    await using socket = edge.socket(path + query, headers)
    await expect(socket.opened).rejects.toThrow('403')
  })

  test.each(['//', '///x', '/\\', '*', 'http://[', '/%'])(
    'a handshake whose address is %s is refused, and the server continues',
    async (address) => {
      const socket = connect(Number(new URL(edge.url).port), '127.0.0.1')
      const lines = [
        `GET ${address} HTTP/1.1`,
        'Host: localhost',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 40[03] /)
      expect((await edge.call('GET', '/alive')).status).toBe(200)
    },
  )

  test('the events socket refuses a handshake with an invalid conversation id', async () => {
    await using socket = edge.socket('/sockets/events/xx', header)
    await expect(socket.opened).rejects.toThrow('403')
  })

  test('a socket without a key sends nothing before its first frame presents a key', async () => {
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
  ])('a socket with %s as first frame is closed with 4001', async (_, frame) => {
    await using socket = edge.socket(path)
    await socket.opened
    if (frame !== null) socket.send(frame)
    expect(await socket.closed).toEqual({ code: 4001, reason: 'Authentication failed' })
    expect(socket.frames).toEqual([])
  })

  test('frames directly after the first frame are not lost', async () => {
    const { id } = await edge.start()
    await using socket = edge.socket(`/sockets/events/${id}`)
    await socket.opened
    socket.send({ type: 'auth', session_api_key: KEYS.ann })
    socket.send({ role: 'user', content: [{ type: 'text', text: 'early' }] })
    await socket.next((frame) => textOf(frame) === 'early')
  })

  test("a socket for an unknown conversation, or another user's, is closed with 4004", async () => {
    for (const [place, key] of [
      [`/sockets/events/${randomUUID()}`, KEYS.ann],
      [path, KEYS.bob],
    ] as const) {
      await using socket = edge.socket(place, { 'x-session-api-key': key })
      expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
    }
  })
})

describe('frames of existing clients', () => {
  test('an events socket sends the state first and stored events only on request', async () => {
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
    'an events socket with %s resends all events in order, after the state',
    async (query) => {
      await using socket = edge.socket(`${path}?${query}`, header)
      const events = await stored(edge, id)
      expect(isSnapshot(await socket.next())).toBe(true)
      for (const event of events) expect(await socket.next()).toEqual(event)
    },
  )

  test('resend_mode=since resends events from a time on', async () => {
    const events = await stored(edge, id)
    const { timestamp } = events.find((event: Loose) => textOf(event) === 'two')
    await using socket = edge.socket(`${path}?resend_mode=since&after_timestamp=${timestamp}`, header)
    expect(isSnapshot(await socket.next())).toBe(true)
    // Several events may have the same millisecond.
    const since = events.filter((event: Loose) => event.timestamp >= timestamp)
    for (const event of since) expect(await socket.next()).toEqual(event)
  })

  test('resend_mode=since with a future time resends nothing and follows live events', async () => {
    await using socket = edge.socket(`${path}?resend_mode=since&after_timestamp=2999-01-01T00:00:00Z`, header)
    await socket.next()
    await edge.say(id, 'after a moment to come')
    expect(textOf(await socket.next((frame) => frame.kind === 'MessageEvent'))).toBe('after a moment to come')
  })

  test('an events socket shows the deltas and events of a run, and then a state that is not running', async () => {
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

describe('frames from clients', () => {
  test('the error for an invalid frame is sent to its sender only, and the socket stays open', async () => {
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

  test('a socket with a read-only key receives events and cannot send messages', async () => {
    await using socket = edge.socket(path, { 'x-session-api-key': KEYS.reader })
    await socket.next()
    socket.send({ role: 'user', content: [] })
    expect(await socket.next()).toMatchObject({ kind: 'ServerErrorEvent', code: 'PermissionError' })
  })
})

describe('sequenced frames', () => {
  const seqs = (socket: Socket) => socket.frames.filter(({ type }) => type === 'event').map(({ seq }) => seq)

  test('sequenced frames contain every event once, in order, from any seq', async () => {
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

  test('readers that reconnect during a flood of events see each event once', async () => {
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

describe('end of a connection', () => {
  test('the sockets of a deleted conversation are closed with 4004', async () => {
    const { id } = await edge.start()
    await using bare = edge.socket(`/sockets/events/${id}`, header)
    await using sequenced = edge.socket(`/sockets/events/${id}?after_seq=0`, header)
    await Promise.all([bare.next(), sequenced.next()])
    await edge.call('DELETE', `/api/conversations/${id}`)
    expect(await bare.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
    expect((await sequenced.closed).code).toBe(4004)
    expect(sequenced.frames.at(-1)).toEqual({ type: 'refused', reason: 'Conversation not found' })
  })

  test('a socket over the limit is refused until another one has closed', async () => {
    await using small = await startKeyedServer({ overrides: { liveLimits: { maxPerConversation: 2 } } })
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

  test('a closing server closes sockets with 1012 and waits for them', async () => {
    const short = await startKeyedServer()
    await using _server = short
    const { id } = await short.start()
    await using socket = short.socket(`/sockets/events/${id}`, header)
    await socket.next()
    await short.close()
    expect((await socket.closed).code).toBe(1012)
    await expect(fetch(short.url)).rejects.toThrow()
  })

  test('a socket that does not answer pings is ended, and one that answers stays', async () => {
    await using quick = await startKeyedServer({ overrides: { liveLimits: { pingMs: 100 } } })
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

  test('a stalled reader is ended, delays no other reader, and can resume by seq', async () => {
    await using quick = await startKeyedServer({
      overrides: { liveLimits: { stallMs: 400 } },
      env: { PARLEY_BODY_LIMIT_BYTES: String(16 * 1024 * 1024) },
    })
    const { id } = await quick.start()
    await using slow = quick.socket(`/sockets/events/${id}?after_seq=0`, header)
    await slow.next()
    slow.ws.pause()
    await using fast = quick.socket(`/sockets/events/${id}?after_seq=0`, header)
    const text = 'x'.repeat(1024 * 1024)
    const count = 12
    for (let n = 0; n < count; n++) await quick.say(id, `${n}:${text}`)
    for (let n = 0; n < count; n++) await fast.next(({ event }) => textOf(event ?? {})?.startsWith(`${n}:`))
    // After the stall limit the server has ended the connection, so reading ends before all events.
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
  test('a server without keys accepts sockets of this machine, but not of pages of other sites', async () => {
    await using open = await startKeyedServer({ env: { PARLEY_WITHOUT_KEYS: 'true' } })
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
