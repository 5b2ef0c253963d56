import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { wholeLog } from '../../packages/server/testing/whole-log.ts'

let edge: KeyedServer
let id: string
let base: string
const search = async (query: string) => (await edge.call('GET', `${base}/events/search?${query}`)).json

beforeAll(async () => {
  edge = await startKeyedServer({ respond: async () => ({ text: 'Hello.' }) })
  id = (await edge.start()).id
  base = `/api/conversations/${id}`
  for (const text of ['one', 'two is Ünusual', 'three']) await edge.say(id, text)
})
afterAll(() => edge[Symbol.asyncDispose]())

describe('sending', () => {
  test('content parts of a message may omit members with defaults, and a message may be empty', async () => {
    const { id } = await edge.start()
    expect((await edge.call('POST', `/api/conversations/${id}/events`, {})).text).toBe('{"success":true}')
  })

  test('only messages with the role user are accepted', async () => {
    const { status, json } = await edge.call('POST', `${base}/events`, { role: 'assistant', content: [] })
    expect([status, json.detail[0].loc]).toEqual([422, ['body', 'role']])
  })

  test('the place of a failure in a content part contains the tag of the part', async () => {
    const { json } = await edge.call('POST', `${base}/events`, { content: [{ type: 'text' }, { type: 'video' }] })
    expect(json.detail.map(({ type, loc }: Loose) => [type, loc.slice(1).join('.')])).toEqual([
      ['missing', 'content.0.text.text'],
      ['union_tag_invalid', 'content.1'],
    ])
  })

  test('a message with Prefer: wait is answered when the run has ended', async () => {
    const { id } = await edge.start()
    const answer = await edge.call(
      'POST',
      `/api/conversations/${id}/events`,
      { content: [{ type: 'text', text: 'hi' }], run: true },
      { headers: { prefer: 'wait=15' } },
    )
    expect([answer.text, answer.headers.get('preference-applied')]).toEqual(['{"success":true}', 'wait=15'])
    expect((await edge.call('GET', `/api/conversations/${id}`)).json.execution_status).toBe('finished')
  })
})

test('a closing server does not wait for requests with Prefer: wait', async () => {
  await using slow = await startKeyedServer({ respond: () => new Promise(() => {}) })
  const { id } = await slow.start()
  await using socket = slow.socket(`/sockets/events/${id}`, { 'x-session-api-key': KEYS.ann })
  await socket.next()
  const content = [{ type: 'text', text: 'hi' }]
  const waiting = slow.call(
    'POST',
    `/api/conversations/${id}/events`,
    { content, run: true },
    { headers: { prefer: 'wait=50' } },
  )
  await socket.next((frame) => frame.key === 'execution_status' && frame.value === 'running')
  const from = performance.now()
  await slow.close()
  expect((await waiting).status).toBe(200)
  expect(performance.now() - from).toBeLessThan(5000)
})

describe('reading', () => {
  test('a page of events omits nulls and is in log order; a single event includes nulls', async () => {
    const { items } = await search('kind=MessageEvent')
    expect(items.map(({ llm_message }: Loose) => llm_message.content[0].text)).toEqual([
      'one',
      'two is Ünusual',
      'three',
    ])
    expect(items[0]).not.toHaveProperty('sender')
    expect(items[0].timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
    const { json } = await edge.call('GET', `${base}/events/${items[0].id}`)
    expect(json).toMatchObject({ id: items[0].id, kind: 'MessageEvent', sender: null })
  })

  test('a page of events begins with the event that the previous page names', async () => {
    const found: string[] = []
    let page = ''
    do {
      const { items, next_page_id } = await search(`limit=2${page}`)
      found.push(...items.map((event: Loose) => event.id))
      page = next_page_id === null ? '' : `&page_id=${next_page_id}`
    } while (page !== '')
    expect(found).toEqual((await search('')).items.map((event: Loose) => event.id))
    expect((await search('sort_order=TIMESTAMP_DESC')).items.map((event: Loose) => event.id)).toEqual(
      found.toReversed(),
    )
    expect((await edge.call('GET', `${base}/events/count`)).text).toBe(String(found.length))
  })

  test.each([
    ['kind=MessageEvent', 3],
    ['kind=openhands.sdk.event.llm_convertible.message.MessageEvent', 3],
    ['kind=ObservationEvent', 0],
    ['kind=NoSuchEvent', 0],
    ['source=user&kind=MessageEvent', 3],
    ['source=agent&kind=MessageEvent', 0],
    ['body=THREE', 1],
    ['body=o', 2],
    ['timestamp__gte=2000-01-01T00:00:00Z&kind=MessageEvent', 3],
    ['timestamp__lt=2000-01-01&kind=MessageEvent', 0],
  ])('a search of events with ?%s finds %i', async (query, count) => {
    expect((await search(query)).items).toHaveLength(count)
    expect((await edge.call('GET', `${base}/events/count?${query}`)).text).toBe(String(count))
  })

  test.each([
    ['limit=0', 'greater_than'],
    ['limit=101', 'less_than_equal'],
    ['source=robot', 'enum'],
    ['sort_order=x', 'enum'],
    ['timestamp__gte=x', 'datetime_from_date_parsing'],
    ['seqs=1', 'value_error'],
    ['seqs=0-5', 'value_error'],
    ['seqs=5-4', 'value_error'],
    ['seqs=1-501', 'value_error'],
    ['seqs=1-99999999999999999999', 'value_error'],
  ])('a search of events with ?%s is refused', async (query, type) => {
    const { status, json } = await edge.call('GET', `${base}/events/search?${query}`)
    expect([status, json.detail[0].type]).toEqual([422, type])
  })

  test('a range of seqs has the events of these seqs, each with its seq, whatever else a page would have', async () => {
    const all = await wholeLog(edge.url, id, KEYS.ann)
    const page = await search('seqs=2-4&limit=1&sort_order=TIMESTAMP_DESC&seq=1')
    expect(page).toEqual({ items: all.slice(1, 4), seqs: [2, 3, 4], next_page_id: null })
    expect(await search('seqs=1-500')).toMatchObject({ items: all, seqs: all.map((_, index) => index + 1) })
    expect(await search('seqs=400-401')).toEqual({ items: [], seqs: [], next_page_id: null })
    const messages = await search('seqs=1-500&kind=MessageEvent')
    for (const [index, seq] of messages.seqs.entries()) expect(messages.items[index]).toEqual(all[seq - 1])
    expect(await search('')).not.toHaveProperty('seqs')
  })

  test('a text is found with its place and an excerpt in its own case, newest first', async () => {
    const find = async (query: string) => (await edge.call('GET', `${base}/events/find?${query}`)).json
    const [hit, ...others] = await find('q=ünusual&kinds=MessageEvent')
    expect([hit.excerpt, others]).toEqual(['two is Ünusual', []])
    const { items } = await search(`seqs=${hit.seq}-${hit.seq}`)
    expect(items[0].llm_message.content[0].text).toBe('two is Ünusual')
    const all = await find('q=o&kinds=MessageEvent,ActionEvent')
    expect(all.map(({ seq }: Loose) => seq)).toEqual(
      all.map(({ seq }: Loose) => seq).toSorted((a: number, b: number) => b - a),
    )
    expect(await find('q=o&kinds=MessageEvent&limit=1')).toEqual([all[0]])
    expect(await find('q=o&kinds=NoSuchEvent')).toEqual([])
    for (const query of ['', 'q=', 'q=x&limit=0', 'q=x&limit=201'])
      expect((await edge.call('GET', `${base}/events/find?${query}`)).status).toBe(422)
  })

  test('an outline has one element for every event, in pages from the newest one on', async () => {
    const outline = async (query: string) => (await edge.call('GET', `${base}/events/outline?${query}`)).json
    const all = await outline('')
    const items = await wholeLog(edge.url, id, KEYS.ann)
    expect([all.first_seq, all.last_seq, all.newest_seq]).toEqual([1, items.length, items.length])
    const ids = items.map((event) => event.id)
    items.forEach((event, index) => {
      const type = all.types[all.type[index]]
      expect(type.source).toBe(event.source)
      if (event.kind !== 'ConversationStateUpdateEvent') expect(type.kind).toBe(event.kind)
      expect(all.parent[index]).toBe(event.parent_id === undefined ? 0 : index - ids.indexOf(event.parent_id))
    })
    const page = await outline(`before_seq=4&after_seq=1&limit=10`)
    expect(page).toMatchObject({ first_seq: 2, last_seq: 3, parent: all.parent.slice(1, 3) })
    expect(page.started_at).toBe(all.started_at + all.at[1])
  })

  test.each([
    ['limit=0', 'greater_than_equal'],
    ['limit=50001', 'less_than_equal'],
    ['before_seq=0', 'greater_than_equal'],
    ['after_seq=-1', 'greater_than_equal'],
    ['after_seq=x', 'int_parsing'],
  ])('an outline with ?%s is refused', async (query, type) => {
    const { status, json } = await edge.call('GET', `${base}/events/outline?${query}`)
    expect([status, json.detail[0].type]).toEqual([422, type])
  })
})

describe('unknown conversations and events', () => {
  test.each([
    '/events/search',
    '/events/count',
    '/events/outline',
    '/events/find?q=x',
    '/events/stream',
    `/events/${randomUUID()}`,
  ])('GET %s of an unknown conversation names it', async (path) => {
    const other = randomUUID()
    const { status, json } = await edge.call('GET', `/api/conversations/${other}${path}`)
    expect([status, json]).toEqual([404, { detail: `Conversation not found: ${other}` }])
  })

  test('messages and confirmations for an unknown conversation are refused with 404', async () => {
    const other = randomUUID()
    for (const [path, body] of [
      ['', {}],
      ['/respond_to_confirmation', { accept: true }],
    ] as const)
      expect((await edge.call('POST', `/api/conversations/${other}/events${path}`, body)).json).toEqual({
        detail: `Conversation not found: ${other}`,
      })
  })

  test('an unknown event of a known conversation is refused with 404', async () => {
    const event = randomUUID()
    const { status, json } = await edge.call('GET', `${base}/events/${event}`)
    expect([status, json.detail]).toEqual([404, `Event not found: ${event}`])
  })

  test('events of a conversation of another user are not found', async () => {
    expect((await edge.call('GET', `${base}/events/search`, undefined, { key: KEYS.bob })).status).toBe(404)
  })
})

test('a read-only key can read events and cannot write', async () => {
  expect((await edge.call('GET', `${base}/events/count`, undefined, { key: KEYS.reader })).status).toBe(200)
  expect((await edge.call('POST', `${base}/events`, {}, { key: KEYS.reader })).status).toBe(403)
})
