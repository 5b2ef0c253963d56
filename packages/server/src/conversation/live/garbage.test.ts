import { expect, test } from 'vitest'
import { until } from '../../../testing/until.ts'
import { GarbageCollection } from './garbage.ts'

const MIB = 1024 * 1024

test('memory of garbage returns to the operating system only when nothing is active', async () => {
  let isActive = true
  let asked = 0
  const garbage = new GarbageCollection(() => {
    asked++
    return !isActive
  })
  let work: { at: number; text: string }[] | null = Array.from({ length: 1_000_000 }, (_, at) => ({
    at,
    text: `${at}`,
  }))
  garbage.changed()
  await until(() => asked === 1)
  const busy = process.memoryUsage.rss()
  expect(work.length).toBe(1_000_000)
  work = null
  isActive = false
  garbage.changed()
  await until(() => busy - process.memoryUsage.rss() > 32 * MIB)
  garbage.close()
})
