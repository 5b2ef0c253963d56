import type { ActionEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { answer, call, count, gate, openBench, result, type Bench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'

/** Starts a conversation whose model answers with a call when `open` is resolved; returns once the model was asked. */
async function startHeldStep(bench: Bench) {
  const { reached, open } = gate()
  bench.play({
    async *think(): Step {
      reached.resolve()
      await open.promise
      yield call()
    },
  })
  const talk = await bench.start()
  await reached.promise
  return { talk, open }
}

test('calls that a failed run left open are recovered by the next run, not executed', async () => {
  await using bench = await openBench()
  const executed: string[] = []
  const recovered: string[] = []
  const names = (actions: readonly ActionEvent[]) => actions.map(({ id }) => id)
  bench.play({
    async *think(context): Step {
      yield bench.asked.length === 1 ? call() : answer('done', context.state().seq)
    },
    async *execute(actions): Step {
      executed.push(...names(actions))
      yield* []
      throw new Error('the tool is gone')
    },
    async *recover(actions): Step {
      recovered.push(...names(actions))
      yield actions.map(result)
    },
  })
  const talk = await bench.start()
  await talk.is('error')
  await talk.send('run')
  await talk.is('finished')
  expect(executed).toHaveLength(1)
  expect(recovered).toEqual(executed)
})

test('an answer that arrives after an interrupt is not stored', async () => {
  await using bench = await openBench()
  const { talk, open } = await startHeldStep(bench)
  await talk.send('interrupt')
  open.resolve()
  await talk.is('paused')
  const { length } = await talk.events()
  await new Promise((resolve) => setImmediate(resolve))
  expect(await talk.events()).toHaveLength(length)
  expect(await talk.kinds()).not.toContain('ActionEvent')
})

test('drafts that wait for their turn when the run is interrupted are not stored', async () => {
  await using bench = await openBench()
  const holding = gate()
  const drafted = Promise.withResolvers<void>()
  bench.play({
    async *think(): Step {
      // A message occupies the turn while the answer waits for it.
      bench.faults.before = async () => {
        holding.reached.resolve()
        await holding.open.promise
      }
      const said = talk.say('meanwhile', false)
      await holding.reached.promise
      bench.faults.before = async () => undefined
      void said
      drafted.resolve()
      yield call()
    },
  })
  const talk = await bench.start()
  await drafted.promise
  const interrupted = talk.send('interrupt')
  await new Promise((resolve) => setImmediate(resolve))
  holding.open.resolve()
  await interrupted
  expect(await talk.status()).toBe('paused')
  expect(await talk.kinds()).not.toContain('ActionEvent')
})

test('after an interrupt during the commit of a call, the call is closed and does not begin', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  let begun = 0
  bench.play({
    async *think(): Step {
      bench.faults.before = async () => {
        reached.resolve()
        await open.promise
      }
      yield call()
    },
    async *execute(actions): Step {
      begun += 1
      yield actions.map(result)
    },
  })
  const talk = await bench.start()
  await reached.promise
  bench.faults.before = async () => undefined
  const interrupted = talk.send('interrupt')
  await new Promise((resolve) => setImmediate(resolve))
  open.resolve()
  await interrupted
  expect(await talk.status()).toBe('paused')
  const events = await talk.events()
  expect(count(events, 'ActionEvent')).toBe(count(events, 'AgentErrorEvent'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toBe(0)
})

test('a step that ignores its abort does not delay an interrupt', async () => {
  await using bench = await openBench()
  const { talk, open } = await startHeldStep(bench)
  const before = performance.now()
  await talk.send('interrupt')
  // The interrupt waits four seconds for a run that does not end.
  expect(performance.now() - before).toBeLessThan(3_000)
  expect(await talk.status()).toBe('paused')
  open.resolve()
})

test('a message that arrives during an answer gets a step of its own', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  bench.play({
    async *think(context): Step {
      const { seq } = context.state()
      if (bench.asked.length === 1) {
        reached.resolve()
        await open.promise
      }
      yield answer(`answer ${bench.asked.length}`, seq)
    },
  })
  const talk = await bench.start()
  await reached.promise
  await talk.say('one more thing')
  open.resolve()
  await talk.is('finished')
  expect(bench.asked).toHaveLength(2)
})

test('a message that arrives while a run ends is answered', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  bench.faults.before = async ({ row }) => {
    if (row?.status !== 'finished') return
    bench.faults.before = async () => undefined
    reached.resolve()
    await open.promise
  }
  const talk = await bench.start()
  await reached.promise
  const said = talk.say('not yet')
  open.resolve()
  await said
  await until(() => bench.asked.length === 2)
  await talk.is('finished')
})

test('no run begins between an interrupt and its record', async () => {
  await using bench = await openBench()
  const step = gate()
  const stop = gate()
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      step.reached.resolve()
      await step.open.promise
    },
    async interrupt() {
      stop.reached.resolve()
      await stop.open.promise
    },
  })
  const talk = await bench.start()
  await step.reached.promise
  const interrupted = talk.send('interrupt')
  await stop.reached.promise
  await talk.say('go on')
  await new Promise((resolve) => setImmediate(resolve))
  expect(bench.asked).toHaveLength(1)
  stop.open.resolve()
  step.open.resolve()
  await interrupted
  const kinds = await talk.kinds()
  expect(kinds).toContain('InterruptEvent')
})

test('an aborted run gives its run slot back, also one that waited for it', async () => {
  await using bench = await openBench({ runSlots: 1 })
  const { reached, open } = gate()
  bench.play({
    async *think(): Step {
      reached.resolve()
      await open.promise
      yield* []
    },
  })
  const first = await bench.start()
  await reached.promise
  const second = await bench.start()
  await second.is('running')
  await second.send('interrupt')
  await first.send('interrupt')
  bench.play({})
  for (const talk of [await bench.start(), await bench.start()]) await talk.is('finished')
  open.resolve()
})

test('no model is asked after an interrupt that came while the store was asked whether it accepts appends', async () => {
  await using bench = await openBench()
  const step = gate()
  const check = gate()
  bench.play({
    async *think(): Step {
      step.reached.resolve()
      await step.open.promise
      yield* []
    },
  })
  const talk = await bench.start()
  await step.reached.promise
  // A message is refused during the step, so the next step begins with that question.
  bench.faults.refuse = diskFull
  await expect(talk.say('lost', false)).rejects.toMatchObject({ code: 'unavailable' })
  bench.faults.refuse = () => null
  bench.faults.before = async ({ events }) => {
    if (events.length > 0) return
    bench.faults.before = async () => undefined
    check.reached.resolve()
    await check.open.promise
  }
  step.open.resolve()
  await check.reached.promise
  const interrupted = talk.send('interrupt')
  await new Promise((resolve) => setImmediate(resolve))
  check.open.resolve()
  await interrupted
  expect(await talk.status()).toBe('paused')
  expect(bench.asked).toHaveLength(1)
})
