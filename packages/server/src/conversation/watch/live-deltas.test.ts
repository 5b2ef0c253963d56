import { expect, test } from 'vitest'
import type { LlmDelta } from '../../llm/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import type { Live } from './channel.ts'
import { LiveDeltas } from './live-deltas.ts'

/** A channel that is watched or not, and what it was given. */
function channel(watchers = 1) {
  const seen: LlmDelta[] = []
  const emit = (item: Live['item']) => void (item.kind === 'delta' && seen.push(item.delta))
  return { watchers, emit, seen }
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
