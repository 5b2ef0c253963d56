import { expect, test } from 'vitest'
import { gate, openBench } from '../../../testing/engine-bench.ts'

test('a start that follows a stop waits until the processes of the stop have ended', async () => {
  const processes = gate()
  await using bench = await openBench({
    endProcesses: async () => {
      processes.reached.resolve()
      await processes.open.promise
    },
  })
  const it = await bench.start()
  await it.is('finished')
  const stopped = it.send('stop')
  await processes.reached.promise
  const order: string[] = []
  const started = it.send('start').then(() => order.push('started'))
  // Time in which a start that does not wait would end.
  const other = await bench.start()
  await other.is('finished')
  order.push('processes ended')
  processes.open.resolve()
  await Promise.all([stopped, started])
  expect(order).toEqual(['processes ended', 'started'])
})
