import { HookConfig, type StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import {
  ANN,
  answer,
  call,
  count,
  gate,
  holdAppend,
  isAnswer,
  openBench,
  phaseOf,
  settled,
  texts,
} from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import type { SessionHooks } from '../hooks/conversation-hooks.ts'

const statusesIn = (events: readonly StoredEvent[]) =>
  events.flatMap(({ event }) => (event.kind === 'StatusChangedEvent' ? [event.status] : []))

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
  for (let turn = 0; turn < 50; turn += 1) await settled()
  order.push('secrets known')
  masker.resolve()
  for (let isOver = false; !isOver;)
    for (const item of await watcher.next()) {
      if (item.kind === 'delta') order.push('shown')
      isOver ||= item.kind === 'event' && item.event.kind === 'MessageEvent' && item.event.source === 'agent'
    }
  expect(order).toEqual(['secrets known', 'shown', 'stored'])
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

test('the end of a run at a limit is recorded once, with its reason', async () => {
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
  expect(statusesIn(await talk.events())).toEqual(['running', 'error'])
})

test('a run that ends because a person has paused it records no second pause', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  bench.play({
    async *think(context): Step {
      const { seq } = context.state()
      reached.resolve()
      await open.promise
      yield answer('done', seq)
    },
  })
  const talk = await bench.start()
  await reached.promise
  await talk.send('pause')
  open.resolve()
  await until(async () => count(await talk.events(), 'MessageEvent') === 2)
  await talk.send('run')
  await talk.is('finished')
  expect(statusesIn(await talk.events())).toEqual(['running', 'paused', 'running', 'finished'])
})

test('a run that is interrupted before its end is stored is paused, not finished', async () => {
  await using bench = await openBench()
  const answered = holdAppend(bench, isAnswer)
  const talk = await bench.start()
  await answered.reached.promise
  // The change waits for its turn behind the answer, and the end of the run behind the change.
  const changing = bench.engine.send(
    talk.id,
    { kind: 'set_confirmation_policy', policy: { kind: 'NeverConfirm' } },
    ANN,
  )
  await settled()
  const changed = holdAppend(bench, () => true)
  answered.open.resolve()
  await changed.reached.promise
  await settled()
  const interrupted = talk.send('interrupt')
  await settled()
  changed.open.resolve()
  await Promise.all([changing, interrupted])
  expect(await talk.status()).toBe('paused')
})

test('a finish that a hook denies gets a further step with its feedback, and the end at a limit cannot be denied', async () => {
  const reasons: string[] = []
  const hooks = {
    stop: async (reason: string) => {
      reasons.push(reason)
      return { drafts: [], blocked: reasons.length > 3 ? null : 'tests fail', context: null }
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as SessionHooks
  await using bench = await openBench({ openHooks: async () => hooks })
  const hook_config = HookConfig.parse({ stop: [{ matcher: '*', hooks: [{ command: 'npm test' }] }] })
  const talk = await bench.start({ hook_config, max_iterations: 2 })
  await talk.is('error')
  expect(reasons).toEqual(['agent_finished', 'agent_finished', 'agent_limit'])
  const feedback = texts(await talk.events()).filter((text) => text.includes('[Stop hook feedback] tests fail'))
  expect([bench.asked.length, feedback.length]).toEqual([2, 2])
})

test('the failure of a start is not recorded again by the run that waited for it', async () => {
  const logged: string[] = []
  await using bench = await openBench({
    log: { warn: () => undefined, error: (_: object, text: string) => void logged.push(text) } as never,
    phases: [phaseOf(() => Promise.reject(new Error('no repository')))],
  })
  const talk = await bench.start()
  await talk.is('error')
  expect(logged).toEqual([])
  expect(count(await talk.events(), 'ConversationErrorEvent')).toBe(1)
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
