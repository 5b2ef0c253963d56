import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'

let edge: KeyedServer
beforeAll(async () => {
  edge = await startKeyedServer({
    respond: async () => ({ text: 'Hello.' }),
    overrides: { liveLimits: { pingMs: 100 } },
  })
})
afterAll(() => edge[Symbol.asyncDispose]())

type Block = { id?: string; event?: string; data?: Loose; comment?: string }

async function listen(path: string, headers: Record<string, string> = {}) {
  const away = new AbortController()
  const answer = await fetch(edge.url + path, {
    headers: { 'x-session-api-key': KEYS.ann, ...headers },
    signal: away.signal,
  })
  async function* blocks(): AsyncGenerator<Block> {
    let rest = ''
    for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + text).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const block: Block = {}
        for (const line of part.split('\n')) {
          const [name = '', value = ''] = line.split(/: (.*)/s)
          if (name === '' || line.startsWith(':')) block.comment = line
          else if (name === 'data') block.data = JSON.parse(value)
          else if (name === 'id' || name === 'event') block[name] = value
        }
        yield block
      }
    }
  }
  return { answer, blocks: blocks(), leave: () => away.abort() }
}

const textOf = (block: Block) => block.data?.event?.llm_message?.content[0]?.text

async function readUntil(blocks: AsyncGenerator<Block>, holds: (block: Block) => boolean): Promise<Block[]> {
  const seen: Block[] = []
  for (;;) {
    const { value, done } = await blocks.next()
    if (done === true) throw new Error('the stream ended')
    seen.push(value)
    if (holds(value)) return seen
  }
}

test('an event stream sends the state, then stored events with their seq as id, then live events and deltas', async () => {
  const { id } = await edge.start()
  await edge.say(id, 'one')
  const stream = await listen(`/api/conversations/${id}/events/stream`, { origin: 'http://localhost:1' })
  expect(stream.answer.headers.get('content-type')).toBe('text/event-stream')
  expect(stream.answer.headers.get('access-control-allow-origin')).toBe('http://localhost:1')
  await edge.say(id, 'two', true)
  const seen = (
    await readUntil(
      stream.blocks,
      ({ event, data }) => event === 'snapshot' && data.state.execution_status === 'finished',
    )
  ).filter(({ comment }) => comment === undefined)
  stream.leave()
  expect(seen[0]).toMatchObject({ event: 'snapshot', data: { type: 'snapshot', state: { id } } })
  const events = seen.filter(({ event }) => event === 'event')
  expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, at) => at + 1))
  expect(events.map(({ data }) => data.seq)).toEqual(events.map(({ id }) => Number(id)))
  expect(events.map(textOf).filter((text) => text !== undefined)).toEqual(['one', 'two', 'Hello.'])
  const deltas = seen.filter(({ event }) => event === 'delta')
  expect(deltas.length).toBeGreaterThan(0)
  for (const block of [...deltas, seen[0]]) expect(block).not.toHaveProperty('id')
})

test('a reconnecting reader resumes after its last event id, whatever the URL says', async () => {
  const { id } = await edge.start()
  for (const text of ['one', 'two', 'three']) await edge.say(id, text)
  const from = (await edge.call('GET', `/api/conversations/${id}/events/count`)).json - 1
  for (const [path, headers] of [
    [`?after_seq=${from}`, {}],
    ['?after_seq=0', { 'last-event-id': String(from) }],
  ] as const) {
    const stream = await listen(`/api/conversations/${id}/events/stream${path}`, headers)
    const seen = await readUntil(stream.blocks, ({ event }) => event === 'event')
    stream.leave()
    expect(seen.at(-1)?.id).toBe(String(from + 1))
  }
})

test('an idle event stream sends comments', async () => {
  const { id } = await edge.start()
  const stream = await listen(`/api/conversations/${id}/events/stream`)
  await readUntil(stream.blocks, ({ comment }) => comment === ': ping')
  stream.leave()
})

test('the event stream of a deleted conversation ends with a final frame', async () => {
  const { id } = await edge.start()
  const stream = await listen(`/api/conversations/${id}/events/stream`)
  await readUntil(stream.blocks, ({ event }) => event === 'snapshot')
  await edge.call('DELETE', `/api/conversations/${id}`)
  const seen = await readUntil(stream.blocks, ({ event }) => event === 'refused')
  expect(seen.at(-1)?.data).toEqual({ type: 'refused', reason: 'Conversation not found' })
  expect((await stream.blocks.next()).done).toBe(true)
})

test('a disconnected reader of an event stream frees its connection', async () => {
  await using small = await startKeyedServer({ overrides: { liveLimits: { maxPerConversation: 1 } } })
  const { id } = await small.start()
  const path = `${small.url}/api/conversations/${id}/events/stream`
  const headers = { 'x-session-api-key': KEYS.ann }
  for (let n = 0; n < 3; n++) {
    const away = new AbortController()
    let answer = await fetch(path, { headers, signal: away.signal })
    // The connection is free as soon as the server has noticed the disconnect.
    while (answer.status === 429) answer = await fetch(path, { headers, signal: away.signal })
    expect(answer.status).toBe(200)
    const second = await fetch(path, { headers })
    expect(second.status).toBe(429)
    await second.text()
    away.abort()
  }
})

test('a closing server ends its event streams', async () => {
  const short = await startKeyedServer()
  await using _server = short
  const { id } = await short.start()
  const answer = await fetch(`${short.url}/api/conversations/${id}/events/stream`, {
    headers: { 'x-session-api-key': KEYS.ann },
  })
  const text = answer.text()
  await short.close()
  expect(await text).toContain('event: snapshot')
})
