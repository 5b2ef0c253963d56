import type { ActionEvent, Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import {
  answer,
  call,
  conversationOf,
  count,
  gate,
  holdAppend,
  isAnswer,
  openBench,
  result,
  settled,
  type Bench,
} from '../../../testing/engine-bench.ts'
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

test('a call that waits for an approval is executed by the process that takes it over, not recovered', async () => {
  await using bench = await openBench()
  const did: string[] = []
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      const [spent, action] = call() as [Draft, ActionEvent]
      const { id: action_id, llm_response_id } = action
      const actions = [{ action_id, risk: 'LOW' as const }]
      yield [spent, action, { kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id, actions }]
    },
    async *execute(actions): Step {
      did.push('executed')
      yield actions.map(result)
    },
    async *recover(actions): Step {
      did.push('recovered')
      yield actions.map(result)
    },
  })
  const talk = await bench.start()
  await talk.is('waiting_for_confirmation')
  const taken = conversationOf(await bench.another(), talk.id)
  // A batch is approved only after it was shown.
  await taken.events()
  await taken.send('run')
  await taken.is('finished')
  expect(did).toEqual(['executed'])
})

test('an answer that arrives after an interrupt is not stored', async () => {
  await using bench = await openBench()
  const { talk, open } = await startHeldStep(bench)
  await talk.send('interrupt')
  open.resolve()
  await talk.is('paused')
  const { length } = await talk.events()
  await settled()
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
  await settled()
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
  await settled()
  open.resolve()
  await interrupted
  expect(await talk.status()).toBe('paused')
  const events = await talk.events()
  expect(count(events, 'ActionEvent')).toBe(count(events, 'AgentErrorEvent'))
  await settled()
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

/** A bench that counts the runs that begin. */
async function openCountingBench() {
  const begun: string[] = []
  const bench = await openBench({
    runs: { began: async (id) => void begun.push(id), ended: async () => undefined },
  })
  return Object.assign(bench, { begun })
}

test('a message that arrives during an answer gets a step of its own in the same run', async () => {
  await using bench = await openCountingBench()
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
  expect(bench.begun).toHaveLength(1)
  open.resolve()
  await talk.is('finished')
  expect([bench.asked.length, bench.begun.length]).toEqual([2, 1])
})

test('a message that is stored just before the end of a run is answered by that run', async () => {
  await using bench = await openCountingBench()
  const answered = holdAppend(bench, isAnswer)
  const talk = await bench.start()
  await answered.reached.promise
  // It waits for its turn behind the answer, and the end of the run behind it.
  const said = talk.say('not yet')
  await settled()
  answered.open.resolve()
  await said
  await talk.is('finished')
  expect([bench.asked.length, bench.begun.length]).toEqual([2, 1])
})

test('a message that arrives while a run ends is answered', async () => {
  await using bench = await openBench()
  const ending = holdAppend(bench, ({ row }) => row?.status === 'finished')
  const talk = await bench.start()
  await ending.reached.promise
  const said = talk.say('not yet')
  ending.open.resolve()
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
  await settled()
  expect(bench.asked).toHaveLength(1)
  stop.open.resolve()
  step.open.resolve()
  await interrupted
  const kinds = await talk.kinds()
  expect(kinds).toContain('InterruptEvent')
})

test('no model is asked after an interrupt that came while the store was asked whether it accepts appends', async () => {
  await using bench = await openBench()
  const step = gate()
  const check = gate()
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      step.reached.resolve()
      await step.open.promise
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
  await settled()
  check.open.resolve()
  await interrupted
  expect(await talk.status()).toBe('paused')
  expect(bench.asked).toHaveLength(1)
})
