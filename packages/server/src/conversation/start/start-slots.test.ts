import { expect, test } from 'vitest'
import { gate, openBench, phaseOf, sharedQuotas } from '../../../testing/engine-bench.ts'
import { until } from '../../../testing/until.ts'

const BOB = { user: 'bob', role: 'user', keyId: 'key' } as const

test('a start beyond the limit of its user waits and follows the next that ends; other users start at once', async () => {
  const begun: string[] = []
  const { open } = gate()
  const slow = phaseOf(async ({ owner }) => {
    begun.push(owner)
    if (owner === 'bob') await open.promise
    return {}
  })
  await using bench = await openBench({ quotas: sharedQuotas({ starts: 2 }), phases: [slow] })
  for (let n = 0; n < 3; n += 1) await bench.start({ by: BOB, isIdle: true })
  await until(() => begun.length === 2)
  const ofAnn = await bench.start()
  await ofAnn.is('finished')
  expect(begun).toEqual(['bob', 'bob', 'ann'])
  expect(bench.quotas.starts.of('bob')).toEqual({ held: 2, waiting: 1 })
  open.resolve()
  await until(() => bench.quotas.starts.of('bob').held === 0)
  expect(begun).toEqual(['bob', 'bob', 'ann', 'bob'])
})
