import { expect, test } from 'vitest'
import { collectGarbage } from '../../../testing/collect-garbage.ts'
import { answer, openBench, texts } from '../../../testing/engine-bench.ts'
import { until } from '../../../testing/until.ts'

const MIB = 1024 * 1024
const heapMib = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed / MIB
}

test('views beyond their limit are dropped, and conversations only beyond another one', async () => {
  await using bench = await openBench()
  const ended: string[] = []
  bench.onEnd((id) => ended.push(id))
  const before = heapMib()
  const small = await bench.start()
  await small.is('finished')
  const large = await bench.start({ isIdle: true })
  await large.say('x'.repeat(12 * MIB))
  await large.is('finished')
  // The bench keeps what its agents saw.
  bench.asked.length = 0
  await until(() => heapMib() - before < 8)
  expect(ended).toEqual([])
  // Its record alone is too large.
  const heavy = await bench.start({ tags: { note: 'x'.repeat(7 * MIB) } })
  await until(() => ended.length > 0)
  expect(ended).toEqual([heavy.id])
})

test('small idle conversations count with their agents, and the least recently used leave first', async () => {
  await using bench = await openBench()
  const ended = new Set<string>()
  bench.onEnd((id) => ended.add(id))
  const ids: string[] = []
  for (let at = 0; at < 220; at++) ids.push((await bench.start({ isIdle: true })).id)
  await until(() => ended.size > 20)
  expect(ids.slice(-100).filter((id) => ended.has(id))).toEqual([])
}, 60_000)

test('idle conversations hold a limited part of their logs in memory, and continue with all of them', async () => {
  await using bench = await openBench()
  const seen: number[] = []
  bench.play({
    async *think(context) {
      seen.push(JSON.stringify(context.view()).length)
      bench.asked.length = 0
      yield answer('done', context.state().seq)
    },
  })
  const before = heapMib()
  const talks = []
  for (let at = 0; at < 4; at++) {
    const talk = await bench.start({ isIdle: true })
    await talk.say(`${at}`.padEnd(3 * MIB, 'x'))
    await talk.is('finished')
    talks.push(talk)
  }
  await until(() => heapMib() - before < 9)
  for (const talk of [talks[0]!, talks[3]!]) {
    await talk.say('and now?')
    await talk.is('finished')
    expect(seen.at(-1)).toBeGreaterThan(3 * MIB)
    expect(texts(await talk.events()).map((text) => text.length > MIB)).toEqual([true, false, false, false])
  }
})
