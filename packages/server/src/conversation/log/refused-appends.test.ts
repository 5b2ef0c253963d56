import { newEventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { ANN, answer, call, count, gate, openBench, phaseOf, texts, type Bench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'
import { abortable } from '../../lib/index.ts'

/** Starts a conversation whose first call the store refuses to append; returns after the first refusal. */
async function startRefusedStep(bench: Bench) {
  bench.play({
    async *think(): Step {
      bench.faults.refuse = diskFull
      yield call()
    },
  })
  const talk = await bench.start()
  await until(() => bench.faults.refused >= 1)
  return talk
}

test('while the store refuses every append, the model is asked once, and the turn finishes by itself afterwards', async () => {
  await using bench = await openBench()
  bench.play({
    async *think(context): Step {
      if (bench.asked.length > 1) return void (yield answer('done', context.state().seq))
      bench.faults.refuse = diskFull
      yield call()
    },
  })
  const talk = await bench.start()
  await until(() => bench.faults.refused >= 5)
  expect(bench.asked).toHaveLength(1)
  expect(await talk.status()).toBe('running')
  bench.faults.refuse = () => null
  await talk.is('finished')
  expect(bench.asked).toHaveLength(2)
  const events = await talk.events()
  expect(count(events, 'ActionEvent')).toBe(1)
  expect(count(events, 'ObservationEvent')).toBe(1)
  expect(count(events, 'UsageRecordedEvent')).toBe(2)
  expect(count(events, 'ConversationErrorEvent')).toBe(0)
})

test('the append of another conversation that the store accepts ends the wait of a refused one', async () => {
  await using bench = await openBench({ appendBackoff: { baseMs: 50, maxMs: 50 } })
  const talk = await bench.start({ isIdle: true })
  await until(async () => (await bench.engine.progress(talk.id, ANN)).status !== 'STARTING')
  bench.play({
    async *think(context): Step {
      const own = context.conversationId
      bench.faults.refuse = ({ id }) => (id === own ? diskFull() : null)
      yield answer('late', context.state().seq)
    },
  })
  await talk.say('hello')
  await until(() => bench.faults.refused >= 1)
  bench.faults.refuse = () => null
  bench.play({})
  const other = await bench.start()
  await other.is('finished')
  await talk.is('finished')
  expect(texts(await talk.events())).toContain(JSON.stringify([{ type: 'text', text: 'late', cache_prompt: false }]))
})

test('an interrupt during the waits of a refused append ends the run at once, and is recorded when the store is back', async () => {
  await using bench = await openBench({ appendBackoff: { baseMs: 60_000, maxMs: 60_000 } })
  const talk = await startRefusedStep(bench)
  await expect(talk.send('interrupt')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(talk.say('too early')).rejects.toMatchObject({ code: 'unavailable' })
  expect(bench.asked).toHaveLength(1)
  bench.faults.refuse = () => null
  bench.play({})
  // The interruption precedes the message in the log, and the message starts a run of its own.
  await talk.say('next')
  await talk.is('finished')
  const events = await talk.events()
  const kinds = events.map(({ event }) => event.kind)
  const at = kinds.indexOf('InterruptEvent')
  expect(count(events, 'InterruptEvent')).toBe(1)
  expect(texts(events.slice(at)).join()).toContain('next')
  expect(texts(events).join()).not.toContain('too early')
  expect(kinds).not.toContain('ActionEvent')
  expect(bench.asked).toHaveLength(2)
})

test('an interrupt that the store refused is recorded without a further request', async () => {
  await using bench = await openBench()
  const talk = await startRefusedStep(bench)
  await expect(talk.send('interrupt')).rejects.toMatchObject({ code: 'unavailable' })
  bench.faults.refuse = () => null
  await talk.is('paused')
  expect(bench.asked).toHaveLength(1)
})

test('the end of a run that the store refuses is stored when the store is back', async () => {
  await using bench = await openBench()
  bench.faults.refuse = ({ row }) => (row?.status === 'finished' ? diskFull() : null)
  const talk = await bench.start()
  await until(() => bench.faults.refused >= 2, 5_000)
  bench.faults.refuse = () => null
  await talk.is('finished')
  expect(bench.asked).toHaveLength(1)
  expect(await talk.kinds()).not.toContain('ConversationErrorEvent')
})

test('an interrupt that cancels a start while the store refuses is recorded when the store is back, without a further request', async () => {
  const phase = gate()
  await using bench = await openBench({
    phases: [
      {
        name: 'setup',
        deadlineMs: 60_000,
        timeoutCode: 'late',
        subject: () => 'The phase',
        applies: () => true,
        run: async (_, signal) => {
          phase.reached.resolve()
          await abortable(phase.open.promise, signal)
          return {}
        },
      },
    ],
  })
  const talk = await bench.start()
  await phase.reached.promise
  bench.faults.refuse = diskFull
  await expect(talk.send('interrupt')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(talk.say('too early')).rejects.toMatchObject({ code: 'unavailable' })
  bench.faults.refuse = () => null
  await talk.is('paused')
  expect(await bench.engine.progress(talk.id, ANN)).toMatchObject({ status: 'STOPPED', code: 'STATUS$STOPPED' })
  const ends = (await talk.events()).flatMap(({ event }) => {
    if (event.kind === 'InterruptEvent') return ['interrupted']
    return event.kind === 'StartPhaseEvent' && event.status === 'failed' ? ['start called off'] : []
  })
  expect(ends).toEqual(['start called off', 'interrupted'])
  expect(bench.asked).toHaveLength(0)
})

test('an append that can never succeed ends the run with a recorded error after one model call', async () => {
  await using bench = await openBench()
  bench.faults.refuse = ({ events }) =>
    events.some(({ event }) => event.kind === 'ActionEvent') ? new Error('string or blob too big') : null
  bench.play({
    async *think(): Step {
      yield call()
    },
  })
  const talk = await bench.start()
  await talk.is('error')
  expect(bench.asked).toHaveLength(1)
  const failed = (await talk.events()).find(({ event }) => event.kind === 'ConversationErrorEvent')
  expect(failed?.event).toMatchObject({ detail: 'string or blob too big' })
})

test('an append with an id that the log has already is not repeated, and ends the run with a recorded error', async () => {
  await using bench = await openBench()
  const id = newEventId()
  bench.play({
    async *think(): Step {
      yield call(id)
    },
  })
  const talk = await bench.start()
  await talk.is('error')
  expect(bench.asked).toHaveLength(2)
  const failed = (await talk.events()).find(({ event }) => event.kind === 'ConversationErrorEvent')
  expect(failed?.event).toMatchObject({ code: 'conflict', detail: expect.stringContaining('already holds an event') })
})

test('while masking fails, the model is asked once, and the failure is recorded when masking works again', async () => {
  let isBroken = false
  let tries = 0
  await using bench = await openBench({
    mask: (drafts) => {
      if (!isBroken) return drafts
      tries += 1
      throw new TypeError('masking is broken')
    },
  })
  bench.play({
    async *think(): Step {
      isBroken = true
      yield call()
    },
  })
  const talk = await bench.start()
  await until(() => tries >= 4)
  expect(bench.asked).toHaveLength(1)
  isBroken = false
  await talk.is('error')
  expect(bench.asked).toHaveLength(1)
})

test('no model is asked by a run that begins while the newest append is not stored', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  expect(bench.asked).toHaveLength(1)
  bench.faults.refuse = diskFull
  await expect(talk.say('lost')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(bench.engine.ask(talk.id, 'what?', ANN, new AbortController().signal)).rejects.toMatchObject({
    code: 'unavailable',
  })
  await expect(talk.send('run')).rejects.toMatchObject({ code: 'unavailable' })
  expect(bench.asked).toHaveLength(1)
  bench.faults.refuse = () => null
  await talk.say('again')
  await talk.is('finished')
  expect(texts(await talk.events()).join()).not.toContain('lost')
})

test('a question beside the conversation is answered although the store refuses its cost, which is stored when the store is back', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  const spent = async () => count(await talk.events(), 'UsageRecordedEvent')
  const before = await spent()
  bench.faults.refuse = ({ events }) => (events.length > 0 ? diskFull() : null)
  expect(await bench.engine.ask(talk.id, 'what?', ANN, new AbortController().signal)).toBe('aside')
  expect(await spent()).toBe(before)
  bench.faults.refuse = () => null
  await until(async () => (await spent()) === before + 1)
})

test('a message and a change that the store refused have no effect, also before the end of the start', async () => {
  const phase = gate()
  await using bench = await openBench({
    phases: [
      phaseOf(async () => {
        phase.reached.resolve()
        await phase.open.promise
        return {}
      }),
    ],
  })
  const talk = await bench.start({ isIdle: true })
  await phase.reached.promise
  bench.faults.refuse = diskFull
  await expect(talk.say('once')).rejects.toMatchObject({ code: 'unavailable' })
  const change = { title: 'new', tags: { a: 'b' }, max_budget_per_task: 1 }
  await expect(bench.engine.update(talk.id, change, ANN)).rejects.toMatchObject({ code: 'unavailable' })
  expect(await bench.engine.info(talk.id, ANN)).toMatchObject({ title: null, tags: {} })
  bench.faults.refuse = () => null
  await talk.say('once')
  phase.open.resolve()
  await talk.is('finished')
  expect(texts(await talk.events()).filter((text) => text.includes('once'))).toHaveLength(1)
  expect(await bench.engine.info(talk.id, ANN)).toMatchObject({ title: null, tags: {} })
})

test('a start whose phases the store refuses continues when the store is back, and runs no phase twice', async () => {
  let runs = 0
  await using bench = await openBench({
    phases: [
      phaseOf(
        async () => {
          runs += 1
          bench.faults.refuse = diskFull
          return {}
        },
        () => runs === 0,
      ),
    ],
  })
  const talk = await bench.start()
  await until(() => bench.faults.refused >= 3)
  expect(bench.asked).toHaveLength(0)
  bench.faults.refuse = () => null
  await talk.is('finished')
  expect(runs).toBe(1)
  expect(await talk.kinds()).not.toContain('ConversationErrorEvent')
})
