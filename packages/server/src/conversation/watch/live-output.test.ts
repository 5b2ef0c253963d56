import { newEventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { makeMasker } from '../../secrets/index.ts'
import { Channel, type Live } from './channel.ts'
import { LiveOutputs } from './live-output.ts'

const masker = async () => makeMasker(['s3cret-value'])
const call = newEventId()

/** A watcher of a channel, and the output that it was given. */
function watcher(of: Channel) {
  const items: Live['item'][] = []
  of.subscribe({ committed: () => undefined, ended: () => undefined, live: ({ item }) => void items.push(item) })
  return items
}
const shown = (items: Live['item'][]) => items.map((item) => (item.kind === 'output' ? [item.offset, item.text] : []))

test('output is shown with its place, and a secret that is cut by the border of two pieces is masked', async () => {
  const to = new Channel(0)
  const items = watcher(to)
  const outputs = new LiveOutputs(to, masker)
  for (const text of ['one\n', 'key s3cre', 't-value\n']) outputs.add(call, text)
  await outputs.end(call)
  expect(shown(items)).toEqual([
    [0, 'one\n'],
    [4, 'key '],
    [8, '<secret-hidden>\n'],
  ])
  expect(items[0]).toMatchObject({ kind: 'output', action_id: call, stream: 'stdout' })
})

test('a watcher that joins gets the output so far, and nothing of a call that has ended', async () => {
  const to = new Channel(0)
  const outputs = new LiveOutputs(to, masker)
  outputs.add(call, 'early s3cret-value\n')
  const first = watcher(to)
  outputs.add(call, 'later\n')
  const second = watcher(to)
  await outputs.end(call)
  expect(shown(first)).toEqual([
    [0, 'early <secret-hidden>\n'],
    [22, 'later\n'],
  ])
  expect(shown(second)).toEqual([[0, 'early <secret-hidden>\nlater\n']])
  expect(watcher(to)).toEqual([])
})

test('of a long output the last 64 KB are kept, and no part of a secret is shown where it was cut', async () => {
  const to = new Channel(0)
  const outputs = new LiveOutputs(to, masker)
  const line = 's3cret-value'.repeat(10)
  for (let count = 0; count < 10_000; count++) outputs.add(call, line)
  const late = watcher(to)
  outputs.add(call, 'end')
  await outputs.end(call)
  const [[offset, text], [after, last]] = shown(late) as [[number, string], [number, string]]
  expect(text).toHaveLength(64 * 1024)
  expect(text.replaceAll('<secret-hidden>', '').length).toBeLessThan('<secret-hidden>'.length)
  expect(offset).toBeGreaterThan(100_000)
  expect([after, last]).toEqual([offset + text.length, 'end'])
})

test('no secret is loaded for output that no client watches', async () => {
  const to = new Channel(0)
  let asked = 0
  const outputs = new LiveOutputs(to, async () => {
    asked += 1
    return makeMasker([])
  })
  outputs.add(call, 'text')
  await outputs.end(call)
  await outputs.end(newEventId())
  expect(asked).toBe(0)
})
