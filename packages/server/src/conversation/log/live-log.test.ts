import type { Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import { ANN, answer, call, count, gate, openBench, result, texts } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'
import type { Append } from '../../storage/index.ts'

test('an append that the store refused changes neither state nor record, and watchers receive nothing', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  const before = await talk.events()
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  await watcher.next()
  bench.faults.refuse = diskFull
  await expect(talk.say('lost')).rejects.toMatchObject({ code: 'unavailable' })
  expect(await talk.status()).toBe('finished')
  bench.faults.refuse = () => null
  await talk.say('kept', false)
  const [item] = (await watcher.next()).filter(({ kind }) => kind === 'event')
  expect(item).toMatchObject({ seq: before.length + 1 })
  expect(texts(await talk.events()).join()).not.toContain('lost')
})

test('a command that changes nothing appends nothing', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  let appends = 0
  bench.faults.before = async () => void (appends += 1)
  for (const command of ['run', 'pause', 'interrupt'] as const) await talk.send(command)
  expect(appends).toBe(0)
})

test('an event reaches watchers only when its append has succeeded', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  await watcher.next()
  const { reached, open } = gate()
  bench.faults.after = async () => {
    reached.resolve()
    await open.promise
  }
  const said = talk.say('hello', false)
  await reached.promise
  let got = 0
  const next = watcher.next().then((items) => {
    got = items.length
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(got).toBe(0)
  open.resolve()
  await Promise.all([said, next])
  expect(got).toBeGreaterThan(0)
})

test('an executed action has the form that the agent wrote while this process remembers it, and the stored form afterwards', async () => {
  const executed: unknown[] = []
  const originals: boolean[] = []
  await using bench = await openBench({
    mask: (drafts) =>
      drafts.map((draft) =>
        draft.kind === 'ActionEvent' ? { ...draft, action: { kind: 'NoopAction', text: 'masked' } as never } : draft,
      ),
  })
  const [spent, written] = call()
  const action = { ...written!, action: { kind: 'NoopAction', text: 'as written' } } as unknown as Draft
  bench.play({
    async *think(context): Step {
      yield bench.asked.length === 1 ? [spent!, action] : answer('done', context.state().seq)
    },
    async *execute(actions, context): Step {
      executed.push(...actions.map((each) => each.action))
      originals.push(...actions.map(({ id }) => context.isOriginal(id)))
      yield actions.map(result)
      originals.push(...actions.map(({ id }) => context.isOriginal(id)))
    },
  })
  const talk = await bench.start()
  await talk.is('finished')
  expect(executed).toEqual([{ kind: 'NoopAction', text: 'as written' }])
  // A call that has its result is not remembered any more.
  expect(originals).toEqual([true, false])
  const stored = (await talk.events()).find(({ event }) => event.kind === 'ActionEvent')
  expect(stored?.event).toMatchObject({ action: { text: 'masked' } })
})

test('a run that is loaded by another process recovers the stored form of a call', async () => {
  await using bench = await openBench()
  const { reached } = gate()
  const recovered: [string, boolean][] = []
  bench.play({
    async *think(context): Step {
      yield bench.asked.length === 1 ? call() : answer('done', context.state().seq)
    },
    async *execute(): Step {
      reached.resolve()
      await new Promise(() => undefined)
      yield* []
    },
    async *recover(actions, context): Step {
      recovered.push(...actions.map(({ id }): [string, boolean] => [id, context.isOriginal(id)]))
      yield actions.map(result)
    },
  })
  const talk = await bench.start()
  await reached.promise
  const other = await bench.another()
  await other.recover()
  await until(async () => (await other.info(talk.id, ANN)).execution_status === 'finished')
  expect(recovered).toEqual([[expect.any(String), false]])
})

test('the state is stored with an append when the conversation rests, and now and then while it runs', async () => {
  await using bench = await openBench()
  const appends: Append[] = []
  bench.faults.before = async (append) => void appends.push(append)
  bench.play({
    async *think(context): Step {
      if (bench.asked.length < 70) return void (yield call())
      yield answer('done', context.state().seq)
    },
  })
  const talk = await bench.start({ max_iterations: 100, stuck_detection: false })
  await talk.is('finished')
  const [begin, end] = ['running', 'finished'].map((status) => appends.findIndex(({ row }) => row?.status === status))
  const written = appends.slice(begin, end)
  const running = written.filter(({ state }) => state !== undefined)
  // Each answer and its results are three events.
  expect(running.length).toBeGreaterThanOrEqual(2)
  expect(running.length).toBeLessThan(written.length / 10)
  expect(appends[end!]?.state).toBeDefined()
})

test('the notification of a pause and of a resumption is stored with it, and only where webhooks are configured', async () => {
  for (const notifies of [true, false]) {
    await using bench = await openBench({ notifies: () => notifies })
    const talk = await bench.start()
    await talk.is('finished')
    const topics: string[] = []
    bench.faults.before = async ({ outbox = [] }) => void topics.push(...outbox.map(({ topic }) => topic))
    const { reached, open } = gate()
    bench.play({
      async *think(context): Step {
        reached.resolve()
        await open.promise
        yield answer('done', context.state().seq)
      },
    })
    await talk.say('more')
    await reached.promise
    await talk.send('pause')
    open.resolve()
    await until(async () => count(await talk.events(), 'MessageEvent') === 4)
    await talk.send('run')
    await talk.is('finished')
    expect(topics).toEqual(notifies ? ['conversation.paused', 'conversation.resumed'] : [])
  }
})

test('an active goal ends with the append that ends its run', async () => {
  await using bench = await openBench({ judgeModel: async () => ({}) as never })
  const { reached, open } = gate()
  bench.play({
    async *think(): Step {
      reached.resolve()
      await open.promise
      yield* []
    },
  })
  const talk = await bench.start({ isIdle: true })
  await bench.engine.send(talk.id, { kind: 'start_goal', objective: 'Make it work.', max_iterations: 3 }, ANN)
  await reached.promise
  await talk.send('interrupt')
  open.resolve()
  const goals = (await talk.events()).flatMap(({ event }) =>
    event.kind === 'StateChangedEvent' && event.key === 'goal' ? [event.value] : [],
  )
  expect(goals).toMatchObject([{ active: true }, { active: false }])
})
