import { expect, test } from 'vitest'
import { ANN, openBench } from '../../../testing/engine-bench.ts'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { until } from '../../../testing/until.ts'

test('the clean-up of a deleted conversation that failed is repeated without a restart, and its id can be used again', async () => {
  await using bench = await openBench()
  const it = await bench.start()
  await it.is('finished')
  bench.faults.release = diskFull()
  await bench.engine.delete(it.id, ANN)
  const again = () => bench.start({ conversation_id: it.id })
  await expect(again()).rejects.toMatchObject({ code: 'conflict' })
  bench.faults.release = null
  await until(() =>
    again().then(
      () => true,
      () => false,
    ),
  )
})
