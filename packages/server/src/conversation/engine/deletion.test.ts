import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { ANN, answer, call, conversationOf, gate, openBench, type Bench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'
import type { Step } from '../../agent/index.ts'

const isUnknown = (error: unknown): boolean => error instanceof ParleyError && error.code === 'not_found'

/** A conversation whose call is open, and what its agent did about calls since the execution of the first one began. */
async function withOpenCall(bench: Bench) {
  const { reached, open } = gate()
  const recovered: number[] = []
  bench.play({
    async *think(context): Step {
      yield bench.asked.length === 1 ? call() : answer('done', context.state().seq)
    },
    async *execute(_, __, signal): Step {
      yield* []
      reached.resolve()
      await Promise.race([open.promise, new Promise((_resolve, reject) => (signal.onabort = reject))])
    },
    async *recover(actions): Step {
      recovered.push(actions.length)
      yield* []
      await open.promise
    },
  })
  const talk = await bench.start()
  await reached.promise
  return { talk, recovered, open }
}

/** Holds the next deletion before it reaches the store. */
function holdDeletion({ faults }: Bench) {
  const held = gate()
  faults.beforeDeletion = async () => {
    faults.beforeDeletion = async () => undefined
    held.reached.resolve()
    await held.open.promise
  }
  return held
}

test('a request during a deletion does not load the conversation again, and reports it as unknown', async () => {
  await using bench = await openBench()
  const { talk, recovered, open } = await withOpenCall(bench)
  const held = holdDeletion(bench)
  const deleted = bench.engine.delete(talk.id, ANN)
  await held.reached.promise
  const said = talk.say('still there?').catch((error: unknown) => error)
  // Time in which a request that does not wait would load the conversation.
  const other = await bench.start()
  await other.is('finished')
  expect(recovered).toEqual([])
  held.open.resolve()
  await deleted
  expect(await said).toSatisfy(isUnknown)
  open.resolve()
})

test('a request during a deletion that the store refuses is carried out', async () => {
  await using bench = await openBench()
  const { talk, open } = await withOpenCall(bench)
  const held = holdDeletion(bench)
  const deleted = bench.engine.delete(talk.id, ANN)
  await held.reached.promise
  const said = talk.say('still there?')
  held.open.reject(diskFull())
  await expect(deleted).rejects.toMatchObject({ code: 'unavailable' })
  await said
  open.resolve()
  expect(await talk.kinds()).toContain('MessageEvent')
})

test('two deletions of one conversation at once both succeed', async () => {
  await using bench = await openBench()
  const { talk, open } = await withOpenCall(bench)
  const held = holdDeletion(bench)
  const first = bench.engine.delete(talk.id, ANN)
  await held.reached.promise
  const second = bench.engine.delete(talk.id, ANN)
  await second
  held.open.resolve()
  await first
  open.resolve()
  await expect(talk.status()).rejects.toSatisfy(isUnknown)
})

test('a run is not continued after a refused deletion when another deletion follows', async () => {
  const logged: string[] = []
  const note = (_: object, text: string) => void logged.push(text)
  await using bench = await openBench({ log: { warn: note, error: note } as never })
  const { talk, recovered, open } = await withOpenCall(bench)
  const held = holdDeletion(bench)
  const refused = bench.engine.delete(talk.id, ANN)
  await held.reached.promise
  const next = holdDeletion(bench)
  const deleted = bench.engine.delete(talk.id, ANN)
  await next.reached.promise
  held.open.reject(diskFull())
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
  next.open.resolve()
  await deleted
  open.resolve()
  const other = await bench.start()
  await other.is('finished')
  expect(recovered).toEqual([])
  expect(logged).not.toContain('run not continued')
})

test('a watcher that connects during a deletion learns of it', async () => {
  await using bench = await openBench()
  const talk = await bench.start()
  await talk.is('finished')
  const held = holdDeletion(bench)
  const deleted = bench.engine.delete(talk.id, ANN)
  await held.reached.promise
  const stop = new AbortController()
  await using watcher = await bench.engine.watch(talk.id, 'now', ANN, stop.signal)
  const kinds: string[] = []
  const watching = (async () => {
    while (!kinds.includes('deleted')) kinds.push(...(await watcher.next()).map(({ kind }) => kind))
  })()
  held.open.resolve()
  await deleted
  await until(() => kinds.includes('deleted')).finally(() => stop.abort())
  await watching
})

/** A conversation that another engine has taken over, and deletes during the next read of its events. */
async function deletedElsewhere(bench: Bench) {
  const opened = await withOpenCall(bench)
  const { talk } = opened
  const other = await bench.another()
  await conversationOf(other, talk.id).say('over here', false)
  // This process notices that it is not the owner any more.
  await expect(talk.say('not here', false)).rejects.toMatchObject({ name: 'RunCancelled' })
  bench.faults.beforeRead = async () => {
    bench.faults.beforeRead = async () => undefined
    await other.delete(talk.id, ANN)
  }
  return opened
}

test('a conversation that another process deletes while it is loaded is unknown, and its run does not begin', async () => {
  await using bench = await openBench()
  const { talk, recovered, open } = await deletedElsewhere(bench)
  await expect(talk.say('and back')).rejects.toSatisfy(isUnknown)
  open.resolve()
  expect(recovered.filter((calls) => calls === 0)).toEqual([])
})

test('a conversation that another process deletes while it is read is unknown, not damaged', async () => {
  await using bench = await openBench()
  const { talk, open } = await deletedElsewhere(bench)
  await expect(talk.status()).rejects.toSatisfy(isUnknown)
  open.resolve()
})
