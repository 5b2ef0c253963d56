import type { ClientToolSpec, ConversationId, EventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import {
  ANN,
  answer,
  call,
  count,
  gate,
  openBench,
  phaseOf,
  result,
  settled,
  sharedQuotas,
} from '../../../testing/engine-bench.ts'
import type { Bench } from '../../../testing/engine-bench.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'

const BOB = { user: 'bob', role: 'user', keyId: 'key' } as const

/** The tool of the bench as one that its client executes. */
const CLIENT_TOOL: ClientToolSpec = {
  name: 'noop',
  description: 'Waits for its client.',
  parameters: { type: 'object', properties: {} },
  annotations: null,
  awaits_result: true,
}

/** Posts the result of a call that a client executes. */
const post = (bench: Bench, id: ConversationId, action_id: EventId) =>
  bench.engine.send(id, { kind: 'client_result', action_id, result: { content: [], is_error: false } }, ANN)

test('a run waits until one of the run slots is free', async () => {
  await using bench = await openBench({ runSlots: 1 })
  const { reached, open } = gate()
  const order: string[] = []
  bench.play({
    async *think(context): Step {
      const { seq } = context.state()
      order.push(`step ${bench.asked.length}`)
      if (bench.asked.length === 1) {
        reached.resolve()
        await open.promise
      }
      yield answer('done', seq)
    },
  })
  await bench.start()
  await reached.promise
  const second = await bench.start()
  // Its message is stored when the start ends, and the run needs a slot then.
  await until(async () => count(await second.events(), 'MessageEvent') === 1)
  await settled()
  order.push('the first run continues')
  open.resolve()
  await second.is('finished')
  expect(order).toEqual(['step 1', 'the first run continues', 'step 2'])
})

test('a run takes its slot after the start, and gives it back when it ends', async () => {
  const phase = gate()
  await using bench = await openBench({
    runSlots: 1,
    phases: [
      phaseOf(
        async () => {
          phase.reached.resolve()
          await phase.open.promise
          return {}
        },
        ({ title }) => title === 'slow',
      ),
    ],
  })
  const slow = await bench.start({ title: 'slow' })
  await phase.reached.promise
  const others: ConversationId[] = []
  for (let n = 0; n < 2; n += 1) {
    const other = await bench.start()
    await other.is('finished')
    others.push(other.id)
  }
  phase.open.resolve()
  await slow.is('finished')
  expect(bench.asked.map(({ conversationId }) => conversationId)).toEqual([...others, slow.id])
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

test('a run whose call waits for its client occupies no run slot', async () => {
  await using bench = await openBench({ runSlots: 1 })
  const called = Promise.withResolvers<EventId>()
  bench.play({
    async *think(context): Step {
      yield bench.asked.length === 1 ? call() : answer('done', context.state().seq)
    },
    async *execute(actions, { conversationId }, signal): Step {
      const { id } = actions[0]!
      called.resolve(id)
      await bench.clientCalls(conversationId).result(id, 60_000, signal)
      yield actions.map(result)
    },
  })
  const waiting = await bench.start({ client_tools: [CLIENT_TOOL] })
  const id = await called.promise
  const other = await bench.start()
  await other.is('finished')
  await post(bench, waiting.id, id)
  await waiting.is('finished')
})

test('a slot that is granted to a run while another of its calls waits for a client goes to the next run', async () => {
  await using bench = await openBench({ runSlots: 1 })
  const called = Promise.withResolvers<EventId[]>()
  const [occupied, second] = [gate(), gate()]
  bench.play({
    async *think(context): Step {
      const { seq } = context.state()
      if (bench.asked.length === 1) return void (yield [...call(), call()[1]!])
      if (bench.asked.length === 2) {
        occupied.reached.resolve()
        await occupied.open.promise
      }
      yield answer('done', seq)
    },
    async *execute(actions, { conversationId }, signal): Step {
      const calls = bench.clientCalls(conversationId)
      const [one, two] = actions.map(({ id }) => id) as [EventId, EventId]
      called.resolve([one, two])
      const first = calls.result(one, 60_000, signal)
      await second.open.promise
      await Promise.all([first, calls.result(two, 60_000, signal)])
      yield actions.map(result)
    },
  })
  const waiting = await bench.start({ client_tools: [CLIENT_TOOL] })
  const [one, two] = (await called.promise) as [EventId, EventId]
  const occupant = await bench.start()
  await occupied.reached.promise
  // The run has its first result and waits for a slot; meanwhile its second call begins to wait.
  await post(bench, waiting.id, one)
  second.open.resolve()
  for (let turn = 0; turn < 20; turn += 1) await settled()
  occupied.open.resolve()
  await occupant.is('finished')
  const other = await bench.start()
  await other.is('finished')
  await post(bench, waiting.id, two)
  await waiting.is('finished')
})

test('a run of one user starts at once while seventy runs of another use a slow model', async () => {
  await using bench = await openBench({ quotas: sharedQuotas({ runs: 0, starts_per_minute: 0 }) })
  const { quotas } = bench
  const { open } = gate()
  const slow = new Set<ConversationId>()
  bench.play({
    async *think({ conversationId, state }): Step {
      if (slow.has(conversationId)) await open.promise
      yield answer('done', state().seq)
    },
  })
  for (let n = 0; n < 70; n += 1) {
    const started = await bench.start({ by: BOB, isIdle: true })
    slow.add(started.id)
    await bench.engine.send(started.id, { kind: 'send_message', content: [], run: true }, BOB)
  }
  await until(() => quotas.runs.of('bob').waiting === 14)
  const ofAnn = await bench.start()
  await ofAnn.is('finished')
  expect(quotas.runs.of('bob')).toEqual({ held: 56, waiting: 14 })
  open.resolve()
  await until(() => quotas.runs.of('bob').held === 0)
})

test('the runs of one user beyond its limit wait, and begin when one of them ends', async () => {
  await using bench = await openBench({ quotas: sharedQuotas({ runs: 1 }) })
  const { reached, open } = gate()
  bench.play({
    async *think({ state }): Step {
      if (bench.asked.length === 1) {
        reached.resolve()
        await open.promise
      }
      yield answer('done', state().seq)
    },
  })
  const first = await bench.start()
  await reached.promise
  const second = await bench.start()
  await until(async () => count(await second.events(), 'MessageEvent') === 1)
  await settled()
  expect(bench.asked.map(({ conversationId }) => conversationId)).toEqual([first.id])
  open.resolve()
  await second.is('finished')
})
