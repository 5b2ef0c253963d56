/** The phases of a start are in the log and on the session socket; existing clients do not count them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KeyedServer, KEYS, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { until } from '../../packages/server/testing/until.ts'

let edge: KeyedServer
let id: string
beforeAll(async () => {
  edge = await startKeyedServer({ answers: [{ text: 'hello' }] })
  id = (await edge.start()).id
  await edge.say(id, 'hi', true)
  await until(async () => (await edge.call('GET', `/api/conversations/${id}`)).json.execution_status === 'finished')
})
afterAll(() => edge[Symbol.asyncDispose]())

const get = async (path: string) => (await edge.call('GET', `/api/conversations/${id}/events/${path}`)).json
const isPhase = (event: Loose) => event.key === 'start_phase'

/** Frames of a socket up to the end of the run. */
async function frames(path: string): Promise<Loose[]> {
  await using socket = edge.socket(path, { 'x-session-api-key': KEYS.ann })
  const isEnd = (event: Loose) => event?.key === 'execution_status' && event.value === 'finished'
  await socket.next((frame) => isEnd(frame) || isEnd(frame.event))
  return socket.frames
}

test('a search, its pages of any size in both orders, and the counts leave out the phases of the start', async () => {
  const { items } = await get('search?limit=100')
  const ids = items.map((event: Loose) => event.id)
  expect([items.some(isPhase), items.length > 5]).toEqual([false, true])
  for (const order of ['TIMESTAMP', 'TIMESTAMP_DESC'])
    for (const limit of [1, 2, 7]) {
      const found: string[] = []
      for (let page: string | null = ''; page !== null;) {
        const query: string = page === '' ? '' : `&page_id=${page}`
        const answer = await get(`search?limit=${limit}&sort_order=${order}${query}`)
        expect(answer.items.length).toBe(answer.next_page_id === null ? answer.items.length : limit)
        found.push(...answer.items.map((event: Loose) => event.id))
        page = answer.next_page_id
      }
      expect(found).toEqual(order === 'TIMESTAMP' ? ids : ids.toReversed())
    }
  expect(await get('count')).toBe(items.length)
  for (const query of [
    'kind=ConversationStateUpdateEvent',
    'source=environment',
    'source=user',
    'body=hi',
    'kind=StartPhaseEvent',
  ]) {
    const matching = (await get(`search?limit=100&${query}`)).items
    expect([query, await get(`count?${query}`), matching.some(isPhase)]).toEqual([query, matching.length, false])
  }
})

test('the session socket has the phases of the start in the order of the log, and a plain socket has none', async () => {
  const session = await frames(`/sockets/session/${id}`)
  const events = session.filter(({ type }) => type === 'event')
  const phases = events.map(({ event }) => event).filter(isPhase)
  expect(phases.map(({ value }) => `${value.phase} ${value.status}`)).toEqual(
    expect.arrayContaining(['workspace started', 'agent done', 'ready done']),
  )
  const plain = (await frames(`/sockets/events/${id}?resend_mode=all`)).filter((event) => event.key !== 'full_state')
  expect(plain.some(isPhase)).toBe(false)
  expect(plain.map((event) => event.id)).toEqual(
    events
      .map(({ event }) => event)
      .filter((event) => !isPhase(event))
      .map((event) => event.id),
  )
})
