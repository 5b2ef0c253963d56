import { expect, test } from 'vitest'
import { ANN, answer, call, conversationOf, count, gate, openBench, texts } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'

test('an engine that lost a conversation stops, ends its watchers, and loads it again for the next request', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('taken over', context.state().seq))
      reached.resolve()
      await open.promise
      yield call()
    },
  })
  const talk = await bench.start()
  await reached.promise
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  await watcher.next()
  const other = conversationOf(await bench.another(), talk.id)
  await other.say('to the other engine')
  await other.is('finished')
  open.resolve()
  // Events of the first engine come before the end, those of the other one after the next connection.
  await expect(
    (async () => {
      for (;;) await watcher.next()
    })(),
  ).rejects.toMatchObject({ code: 'unavailable' })
  const { length } = await other.events()
  await talk.say('back again')
  await talk.is('finished')
  const events = await talk.events()
  expect(events.length).toBeGreaterThan(length)
  expect(count(events, 'ActionEvent')).toBe(0)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
})

test('a commit that was stored although its report failed is repeated, and the turn finishes once without a reload', async () => {
  await using bench = await openBench()
  const ended: string[] = []
  bench.onEnd((id) => void ended.push(id))
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      bench.faults.after = async () => {
        bench.faults.after = async () => undefined
        throw diskFull()
      }
      yield call()
    },
  })
  const talk = await bench.start()
  await talk.is('finished')
  const events = await talk.events()
  expect(count(events, 'ActionEvent')).toBe(1)
  expect(count(events, 'ObservationEvent')).toBe(1)
  expect(bench.asked).toHaveLength(2)
  expect(ended).toEqual([])
})

test('a stored commit without an answer, after which another one comes first, is loaded again', async () => {
  await using bench = await openBench({ appendBackoff: { baseMs: 60_000, maxMs: 60_000 } })
  const talk = await bench.start()
  await talk.is('finished')
  bench.faults.after = async () => {
    bench.faults.after = async () => undefined
    throw diskFull()
  }
  await expect(talk.say('stored without an answer')).rejects.toMatchObject({ code: 'unavailable' })
  // The next request finds that the log is longer than this copy knows.
  await until(() =>
    talk.say('next').then(
      () => true,
      () => false,
    ),
  )
  await talk.is('finished')
  const said = texts(await talk.events()).join()
  expect(said.split('stored without an answer')).toHaveLength(2)
  expect(said).toContain('next')
})

test('a read shows what another engine has stored since, and a copy in memory that was replaced leaves', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  const { engine } = bench
  await using watcher = await engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  await watcher.next()
  const other = conversationOf(await bench.another(), talk.id)
  await other.say('to the other engine')
  await other.is('finished')
  const { stats: newest } = await (await bench.another()).info(talk.id, ANN)
  expect((await engine.info(talk.id, ANN)).stats).toEqual(newest)
  const toItsEnd = async () => {
    for (;;) await watcher.next()
  }
  await expect(toItsEnd()).rejects.toMatchObject({ details: { reason: 'moved' } })
})

test('a conversation that another node holds is not loaded, and is loaded once that node has ended', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  const other = conversationOf(await bench.another(), talk.id)
  await other.say('taken over')
  await other.is('finished')
  bench.faults.holder = 7
  await talk.say('to a copy that is lost').catch(() => undefined)
  await expect(talk.say('too early')).rejects.toMatchObject({ code: 'unavailable', details: { node: 7 } })
  bench.faults.holder = null
  await talk.say('now')
  await talk.is('finished')
  const said = texts(await talk.events()).join()
  expect(said).toContain('now')
  expect(said).not.toContain('too early')
})

test('failures after a commit do not reject it, and watchers miss nothing', async () => {
  const logged: string[] = []
  const log = { warn: () => undefined, error: (_: object, text: string) => void logged.push(text) }
  await using bench = await openBench({
    log: log as never,
    runs: { began: async () => undefined, ended: () => Promise.reject(new Error('the observer failed')) },
  })
  const talk = await bench.start()
  await talk.is('finished')
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  const first = (await talk.events()).find(({ event }) => event.kind === 'MessageEvent')!
  // The view is read again from the store after navigation.
  bench.faults.after = async () => {
    bench.faults.refuseRead = diskFull
  }
  await bench.engine.send(talk.id, { kind: 'navigate', event_id: first.event.id } as never, ANN)
  bench.faults.after = async () => undefined
  bench.faults.refuseRead = () => null
  await talk.say('next')
  await talk.is('finished')
  const events = await talk.events()
  expect(logged).toContain('work after a commit failed')
  const seen: number[] = []
  while (seen.at(-1) !== events.length)
    for (const item of await watcher.next()) if (item.kind === 'event') seen.push(item.seq)
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => seen[0]! + index))
  // The view of the new branch: the answer on the other one is no part of it.
  const sources = bench.asked
    .at(-1)!
    .view()
    .flatMap((event) => (event.kind === 'MessageEvent' ? [event.source] : []))
  expect(sources).toEqual(['user', 'user', 'agent'])
})

test('watchers receive an event only after it is durable, and the deltas of an answer before the answer', async () => {
  await using bench = await openBench()
  bench.play({
    async *think(context): Step {
      context.emit({ content: 'do' } as never)
      context.emit({ content: 'ne' } as never)
      yield answer('done', context.state().seq)
    },
  })
  const talk = await bench.start({ isIdle: true })
  await until(async () => (await bench.engine.progress(talk.id, ANN)).status !== 'STARTING')
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, new AbortController().signal)
  const stored: number[] = []
  bench.faults.after = async ({ events }) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    stored.push(...events.map(({ seq }) => seq))
  }
  await talk.say('hello')
  const order: string[] = []
  while (!order.includes('answer')) {
    for (const item of await watcher.next()) {
      if (item.kind === 'delta') order.push('delta')
      if (item.kind !== 'event') continue
      expect(stored).toContain(item.seq)
      if (item.event.kind === 'MessageEvent' && item.event.source === 'agent') order.push('answer')
    }
  }
  expect(order[0]).toBe('delta')
  expect(order.indexOf('answer')).toBe(order.length - 1)
})

test('a deletion that the store refused deletes nothing, and the run continues', async () => {
  await using bench = await openBench()
  const { reached, open } = gate()
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      reached.resolve()
      await open.promise
    },
  })
  const talk = await bench.start()
  await reached.promise
  bench.faults.deletion = diskFull()
  await expect(bench.engine.delete(talk.id, ANN)).rejects.toMatchObject({ code: 'unavailable' })
  open.resolve()
  // Without a request that would load the conversation.
  await until(() => bench.asked.length === 2)
  await talk.is('finished')
})
