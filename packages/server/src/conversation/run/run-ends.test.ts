import { expect, test } from 'vitest'
import { ANN, answer, call, gate, openBench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'
import { makeMasker } from '../../secrets/index.ts'

/** A condenser that takes requests. */
const CONDENSER = { kind: 'LLMSummarizingCondenser', llm: { model: 'openai/played' } }

test('a condensation that is requested while a run ends is made', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  let condensed = 0
  bench.play({
    async *condense(): Step {
      condensed += 1
      yield* []
    },
  })
  bench.faults.before = async ({ row }) => {
    if (row?.status !== 'finished') return
    bench.faults.before = async () => undefined
    reached.resolve()
    await open.promise
  }
  const talk = await bench.start({ agent: { condenser: CONDENSER } })
  await reached.promise
  const asked = bench.engine.send(talk.id, { kind: 'condense' }, ANN)
  await new Promise((resolve) => setImmediate(resolve))
  open.resolve()
  await asked
  expect([condensed, await talk.status()]).toEqual([1, 'finished'])
})

test('a condensation that fails changes no status, and one that an interrupt ends is reported as interrupted', async () => {
  await using bench = await openBench()
  const talk = await bench.start({ agent: { condenser: CONDENSER } })
  await talk.is('finished')
  const condense = () => bench.engine.send(talk.id, { kind: 'condense' }, ANN)
  bench.play({
    async *condense(): Step {
      yield* []
      throw new Error('no summary')
    },
  })
  await expect(condense()).rejects.toThrow()
  expect([await talk.status(), (await talk.kinds()).includes('ConversationErrorEvent')]).toEqual(['finished', false])
  const { reached, open } = gate()
  bench.play({
    async *condense(): Step {
      reached.resolve()
      await open.promise
      yield* []
    },
  })
  const asked = expect(condense()).rejects.toMatchObject({ code: 'conflict' })
  await reached.promise
  await talk.send('interrupt')
  await asked
  open.resolve()
  expect(await talk.status()).toBe('finished')
})

test('the pieces of an answer are shown before the answer is stored', async () => {
  const masker = Promise.withResolvers<void>()
  const order: string[] = []
  await using bench = await openBench({
    masker: async () => {
      await masker.promise
      return makeMasker([])
    },
  })
  const talk = await bench.start({ isIdle: true })
  await until(async () => (await bench.engine.progress(talk.id, ANN)).status !== 'STARTING')
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  const answered = Promise.withResolvers<void>()
  bench.play({
    async *think(context): Step {
      context.emit({ content: 'a piece' } as never)
      answered.resolve()
      yield answer('a piece', context.state().seq)
    },
  })
  bench.faults.before = async ({ events }) => {
    if (events.some(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')) order.push('stored')
  }
  await talk.say('hello')
  await answered.promise
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  order.push('secrets known')
  masker.resolve()
  for (let isOver = false; !isOver;)
    for (const item of await watcher.next()) {
      if (item.kind === 'delta') order.push('shown')
      isOver ||= item.kind === 'event' && item.event.kind === 'MessageEvent' && item.event.source === 'agent'
    }
  expect(order).toEqual(['secrets known', 'shown', 'stored'])
})

test('a run takes its slot after the start, and gives it back when it ends', async () => {
  const phase = gate()
  await using bench = await openBench({
    runSlots: 1,
    phases: [
      {
        name: 'setup',
        deadlineMs: 60_000,
        timeoutCode: 'late',
        subject: () => 'The phase',
        applies: ({ title }) => title === 'slow',
        run: async () => {
          phase.reached.resolve()
          await phase.open.promise
          return {}
        },
      },
    ],
  })
  const slow = await bench.start({ title: 'slow' })
  await phase.reached.promise
  // Others run meanwhile, one after the other.
  for (const talk of [await bench.start(), await bench.start()]) await talk.is('finished')
  phase.open.resolve()
  await slow.is('finished')
})

test('the observer of runs learns each beginning before the first step, and each end after it is stored', async () => {
  const seen: string[] = []
  await using bench = await openBench({
    runs: {
      began: async () => void seen.push(`began after ${bench.asked.length}`),
      ended: async (id) => void seen.push(`ended, ${(await bench.engine.info(id, ANN)).execution_status}`),
    },
  })
  const talk = await bench.start()
  await talk.is('finished')
  await talk.say('again')
  await until(() => seen.length === 4)
  expect(seen).toEqual(['began after 0', 'ended, finished', 'began after 1', 'ended, finished'])
})

test('an end that is recorded names its reason once, and a run that had that status already records none', async () => {
  await using bench = await openBench()
  bench.play({
    async *think(): Step {
      yield call()
    },
  })
  const talk = await bench.start({ max_iterations: 2, stuck_detection: false })
  await talk.is('error')
  const errors = (await talk.events()).filter(({ event }) => event.kind === 'ConversationErrorEvent')
  expect(errors.map(({ event }) => event)).toMatchObject([{ code: 'MaxIterationsReached' }])
  const statuses = (await talk.events()).flatMap(({ event }) =>
    event.kind === 'StatusChangedEvent' ? [event.status] : [],
  )
  expect(statuses).toEqual(['running', 'error'])
})

test('a repetition that a person has dismissed by running again is reported only once', async () => {
  await using bench = await openBench()
  bench.play({
    async *think(): Step {
      yield call()
    },
  })
  const talk = await bench.start({ stuck_detection: true })
  await talk.is('stuck')
  const { length } = bench.asked
  await talk.send('run')
  await until(() => bench.asked.length > length)
  await talk.is('stuck')
  const reports = (await talk.events()).filter(({ event }) => event.kind === 'ConversationErrorEvent')
  expect(reports.map(({ event }) => event)).toMatchObject([{ code: 'AgentStuck' }, { code: 'AgentStuck' }])

  const tolerant = await bench.start({ stuck_detection: false, max_iterations: 9 })
  await tolerant.is('error')
})

test('a run that failed for good is recorded also when the store refuses its failure at first', async () => {
  await using bench = await openBench()
  bench.play({
    async *think(): Step {
      bench.faults.refuse = diskFull
      yield* []
      throw new Error('the model is gone')
    },
  })
  const talk = await bench.start()
  await until(() => bench.faults.refused >= 3)
  expect(bench.asked).toHaveLength(1)
  bench.faults.refuse = () => null
  await talk.is('error')
  expect(bench.asked).toHaveLength(1)
})

test('watchers receive the whole state at the end of a run', async () => {
  await using bench = await openBench()
  const talk = await bench.start({ isIdle: true })
  await until(async () => (await bench.engine.progress(talk.id, ANN)).status !== 'STARTING')
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  await watcher.next()
  await talk.say('hello')
  const statuses: string[] = []
  while (!statuses.includes('finished'))
    for (const item of await watcher.next())
      if (item.kind === 'snapshot') statuses.push(JSON.stringify(item).match(/"execution_status":"(\w+)"/)?.[1] ?? '')
  expect(statuses).toContain('finished')
})
