import { expect, test } from 'vitest'
import { ANN, answer, gate, holdAppend, openBench, settled, texts, type Bench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'
import type { Append } from '../../storage/index.ts'

/** An agent whose condenser takes requests. */
const CONDENSING = { agent: { condenser: { kind: 'LLMSummarizingCondenser', llm: { model: 'openai/played' } } } }

type Talk = Awaited<ReturnType<Bench['start']>>
const condense = (bench: Bench, { id }: Talk) => bench.engine.send(id, { kind: 'condense' }, ANN)

const isEnd = ({ row }: Append) => row?.status === 'finished'

test('a condensation that is requested while a run ends is made', async () => {
  await using bench = await openBench()
  let condensed = 0
  bench.play({
    async *condense(): Step {
      condensed += 1
      yield* []
    },
  })
  const ending = holdAppend(bench, isEnd)
  const talk = await bench.start(CONDENSING)
  await ending.reached.promise
  const asked = condense(bench, talk)
  await settled()
  ending.open.resolve()
  await until(() => condensed === 1, 5_000)
  await asked
  expect(await talk.status()).toBe('finished')
})

test('a condensation that is requested while an interrupt is recorded is made afterwards', async () => {
  await using bench = await openBench()
  const [step, interrupting] = [gate(), gate()]
  let condensed = 0
  bench.play({
    async *think(): Step {
      step.reached.resolve()
      await step.open.promise
      yield* []
    },
    async *condense(): Step {
      condensed += 1
      yield* []
    },
    async interrupt() {
      interrupting.reached.resolve()
      await interrupting.open.promise
    },
  })
  const talk = await bench.start(CONDENSING)
  await step.reached.promise
  const interrupted = talk.send('interrupt')
  await interrupting.reached.promise
  await settled()
  const asked = condense(bench, talk)
  await settled()
  expect(condensed).toBe(0)
  interrupting.open.resolve()
  await interrupted
  await until(() => condensed === 1, 5_000)
  await asked
  expect(await talk.status()).toBe('paused')
  step.open.resolve()
})

test('a request for a condensation that the store refuses is answered, and the condensation is stored when the store is back', async () => {
  await using bench = await openBench()
  let condensed = 0
  bench.play({
    async *condense(context): Step {
      condensed += 1
      bench.faults.refuse = diskFull
      yield answer('shorter', context.state().seq)
    },
  })
  const talk = await bench.start(CONDENSING)
  await talk.is('finished')
  await expect(condense(bench, talk)).rejects.toMatchObject({ code: 'unavailable' })
  bench.faults.refuse = () => null
  await until(async () =>
    texts(await talk.events())
      .join()
      .includes('shorter'),
  )
  expect(condensed).toBe(1)
  expect(await talk.status()).toBe('finished')
})

test('a request for a condensation of a run that the store holds up is answered', async () => {
  await using bench = await openBench()
  const held = gate()
  bench.play({
    async *think(context): Step {
      held.reached.resolve()
      await held.open.promise
      bench.faults.refuse = diskFull
      yield answer('done', context.state().seq)
    },
  })
  const talk = await bench.start(CONDENSING)
  await held.reached.promise
  const asked = condense(bench, talk)
  await settled()
  held.open.resolve()
  await expect(asked).rejects.toMatchObject({ code: 'unavailable' })
  bench.faults.refuse = () => null
  await talk.is('finished')
})

test('a condensation that fails changes no status, and one that an interrupt ends is reported as interrupted', async () => {
  await using bench = await openBench()
  const talk = await bench.start(CONDENSING)
  await talk.is('finished')
  bench.play({
    async *condense(): Step {
      yield* []
      throw new Error('no summary')
    },
  })
  await expect(condense(bench, talk)).rejects.toThrow('no summary')
  expect([await talk.status(), (await talk.kinds()).includes('ConversationErrorEvent')]).toEqual(['finished', false])
  const { reached, open } = gate()
  bench.play({
    async *condense(): Step {
      reached.resolve()
      await open.promise
      yield* []
    },
  })
  const asked = expect(condense(bench, talk)).rejects.toMatchObject({ code: 'conflict' })
  await reached.promise
  await talk.send('interrupt')
  await asked
  open.resolve()
  expect(await talk.status()).toBe('finished')
})

test('a condensation whose run cannot begin is refused with the reason, and changes no status', async () => {
  const logged: string[] = []
  let isBroken = false
  await using bench = await openBench({
    log: { warn: () => undefined, error: (_: object, text: string) => void logged.push(text) } as never,
    runs: {
      began: async () => {
        if (!isBroken) return
        isBroken = false
        throw new Error('the observer failed')
      },
      ended: async () => undefined,
    },
  })
  const talk = await bench.start(CONDENSING)
  await talk.is('finished')
  const { length } = await talk.events()
  isBroken = true
  await expect(condense(bench, talk)).rejects.toThrow('the observer failed')
  expect(logged).not.toContain('run failed')
  expect([await talk.status(), (await talk.events()).length]).toEqual(['finished', length])
})

test('watchers receive the whole state at the end of a run, also when the next run begins at once', async () => {
  await using bench = await openBench()
  const { open } = gate()
  bench.play({
    async *condense(): Step {
      yield* []
      await open.promise
    },
  })
  const ending = holdAppend(bench, isEnd)
  const talk = await bench.start(CONDENSING)
  await ending.reached.promise
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  const statuses: string[] = []
  const watching = (async () => {
    while (!statuses.includes('finished'))
      for (const item of await watcher.next())
        if (item.kind === 'snapshot') statuses.push(JSON.stringify(item).match(/"execution_status":"(\w+)"/)?.[1] ?? '')
  })()
  // Held, so that neither its end nor the reminder after the last run sends the state.
  const asked = condense(bench, talk)
  await settled()
  ending.open.resolve()
  await until(() => statuses.includes('finished'), 5_000)
  open.resolve()
  await Promise.all([asked, watching])
  expect(statuses.at(-1)).toBe('finished')
})
