import { expect, test } from 'vitest'
import type { LlmDelta } from '../../llm/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import { Channel, type Live } from './channel.ts'
import { LiveDeltas } from './live-deltas.ts'

/** A channel that is watched or not, and what it was given. */
function channel(watchers = 1) {
  const seen: LlmDelta[] = []
  const emit = (item: Live['item']) => void (item.kind === 'delta' && seen.push(item.delta))
  return { watchers, emit, seen, begin: () => ({ emit, end: () => undefined }) }
}
const masker = async () => makeMasker(['s3cret-value'])

test('a secret split over pieces is masked, and all other text keeps its order', async () => {
  const to = channel()
  const deltas = new LiveDeltas(to, masker)
  for (const content of ['the key is s3c', 'ret-', 'value', ', keep it']) deltas.take({ content })
  await deltas.end()
  expect(to.seen.map(({ content }) => content).join('')).toBe('the key is <secret-hidden>, keep it')
  expect(to.seen[0]).toEqual({ content: 'the key is ' })
})

test('held-back text is sent before a piece of another kind, and at the end', async () => {
  const to = channel()
  const deltas = new LiveDeltas(to, masker)
  deltas.take({ reasoning_content: 'maybe s3c' })
  deltas.take({ content: 'yes, s3cret' })
  await deltas.end()
  expect(to.seen).toEqual([
    { reasoning_content: 'maybe ' },
    { reasoning_content: 's3c' },
    { content: 'yes, ' },
    { content: 's3cret' },
  ])
  deltas.take({ content: '-value' })
  await deltas.end()
  expect(to.seen.at(-1)).toEqual({ content: '-value' })
})

test('secrets are loaded once per answer, and not at all without watchers', async () => {
  let asked = 0
  const count = async () => {
    asked += 1
    return makeMasker([])
  }
  const unseen = new LiveDeltas(channel(0), count)
  unseen.take({ content: 'a' })
  await unseen.end()
  expect(asked).toBe(0)
  const deltas = new LiveDeltas(channel(), count)
  for (const answer of [1, 2]) {
    for (const content of ['a', 'b', 'c']) deltas.take({ content })
    await deltas.end()
    expect(asked).toBe(answer)
  }
})

test('when the secrets cannot be loaded, nothing is sent and nothing fails', async () => {
  const to = channel()
  const deltas = new LiveDeltas(to, () => Promise.reject(new Error('the store is gone')))
  deltas.take({ content: 'a' })
  await deltas.end()
  expect(to.seen).toEqual([])
})

/** A watcher of a real channel, and what it was given. */
function watcher(of: Channel) {
  const items: Live['item'][] = []
  of.subscribe({ committed: () => undefined, ended: () => undefined, live: ({ item }) => void items.push(item) })
  return items
}

test('a watcher that joins gets the masked answer so far once, and then the pieces that follow it', async () => {
  const to = new Channel(0)
  const deltas = new LiveDeltas(to, masker)
  deltas.take({ reasoning_content: 'think' })
  for (const content of ['the key', ' is s3c', 'ret-val']) deltas.take({ content })
  const early = watcher(to)
  deltas.take({ content: 'ue. ' })
  const late = watcher(to)
  deltas.take({ content: 'Done' })
  deltas.take({ tool_call: { index: 0, name: 'terminal', chars: 130 } })
  await deltas.end()
  const [partial, ...pieces] = early
  expect(partial).toEqual({
    kind: 'partial',
    response_id: expect.any(String),
    parts: [
      { part: 0, kind: 'reasoning_content', offset: 0, text: 'think' },
      { part: 1, kind: 'content', offset: 0, text: 'the key is ' },
    ],
    tool_calls: [],
  })
  const response_id = (partial as { response_id: string }).response_id
  expect(pieces).toEqual([
    { kind: 'delta', delta: { content: '<secret-hidden>. ' }, response_id, part: 1, offset: 11 },
    { kind: 'delta', delta: { content: 'Done' }, response_id, part: 1, offset: 28 },
    { kind: 'tool_call', response_id, index: 0, name: 'terminal', chars: 130 },
  ])
  expect(late[0]).toMatchObject({ kind: 'partial', parts: [{}, { text: 'the key is <secret-hidden>. ' }] })
  expect(late.slice(1)).toEqual(pieces.slice(1))
  // The next answer is another one, and a watcher between the two gets no partial answer.
  expect(watcher(to)).toEqual([])
  deltas.take({ content: 'again' })
  await deltas.end()
  expect(early.at(-1)).toMatchObject({ kind: 'delta', part: 0, offset: 0 })
  expect((early.at(-1) as { response_id: string }).response_id).not.toBe(response_id)
})

test('a watcher that joins while the secrets cannot be loaded gets no text, and the next answer as usual', async () => {
  const to = new Channel(0)
  let isDown = true
  const deltas = new LiveDeltas(to, async () => {
    if (isDown) throw new Error('the store is gone')
    return makeMasker([])
  })
  deltas.take({ content: 'a' })
  const items = watcher(to)
  deltas.take({ content: 'b' })
  await deltas.end()
  expect(items).toEqual([])
  isDown = false
  deltas.take({ content: 'c' })
  await deltas.end()
  expect(items).toMatchObject([{ kind: 'delta', delta: { content: 'c' }, offset: 0 }])
})

test('of a very long answer its end is kept, with its place', async () => {
  const to = new Channel(0)
  const deltas = new LiveDeltas(to, masker)
  const piece = 'x'.repeat(1024 * 1024)
  for (let count = 0; count < 5; count++) deltas.take({ content: piece })
  deltas.take({ content: 'end' })
  const items = watcher(to)
  await deltas.end()
  const [{ offset, text }] = (items[0] as unknown as { parts: [{ offset: number; text: string }] }).parts
  expect(offset + text.length).toBe(5 * piece.length + 3)
  expect(text.length).toBeLessThanOrEqual(2 * piece.length)
  expect(text.endsWith('xend')).toBe(true)
})
