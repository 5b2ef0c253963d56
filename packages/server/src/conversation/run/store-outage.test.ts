import { expect, test } from 'vitest'
import { answer, count, gate, openBench, phaseOf } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'

test('a run that cannot read the store waits, and finishes without an error when the store is back', async () => {
  const warned: string[] = []
  const log = { warn: (_: object, text: string) => void warned.push(text), error: () => undefined }
  await using bench = await openBench({ log: log as never })
  const talk = await bench.start()
  await talk.is('finished')
  // The next run reads its branch again.
  await bench.engine.endWork('ann')
  let refused = 0
  bench.faults.refuseRead = () => {
    refused += 1
    return diskFull()
  }
  await talk.say('again').catch(() => undefined)
  await until(() => refused >= 3)
  bench.faults.refuseRead = () => null
  await talk.is('finished')
  expect(bench.asked).toHaveLength(2)
  expect(count(await talk.events(), 'ConversationErrorEvent')).toBe(0)
})

test('a step that fails because the store cannot be read is taken again from the log', async () => {
  await using bench = await openBench()
  let isDown = true
  bench.play({
    async *think(context): Step {
      if (isDown) throw diskFull()
      yield answer('done', context.state().seq)
    },
  })
  const talk = await bench.start()
  await until(() => bench.asked.length >= 3)
  expect(await talk.status()).toBe('running')
  isDown = false
  await talk.is('finished')
  expect(count(await talk.events(), 'ConversationErrorEvent')).toBe(0)
})

test('an interrupt ends a run that waits for the store', async () => {
  await using bench = await openBench({ appendBackoff: { baseMs: 60_000, maxMs: 60_000 } })
  bench.play({
    async *think(): Step {
      yield* []
      throw diskFull()
    },
  })
  const talk = await bench.start()
  await until(() => bench.asked.length === 1)
  await talk.send('interrupt')
  await talk.is('paused')
  expect(bench.asked).toHaveLength(1)
})

test('a start whose phase cannot read the store is continued, and its message is answered', async () => {
  const { reached, open } = gate()
  let isDown = true
  await using bench = await openBench({
    phases: [
      phaseOf(async () => {
        if (isDown) throw diskFull()
        reached.resolve()
        await open.promise
        return {}
      }),
    ],
  })
  const talk = await bench.start()
  isDown = false
  await reached.promise
  open.resolve()
  await talk.is('finished')
  expect(count(await talk.events(), 'ConversationErrorEvent')).toBe(0)
})
