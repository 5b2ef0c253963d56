import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLocks, LockTimeout } from './locks.ts'

const never = new AbortController().signal
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('holders of a common key never overlap and every schedule ends', async () => {
  const worker = fc.record({
    scope: fc.constantFrom('/a', '/b'),
    keys: fc.uniqueArray(fc.constantFrom('file:x', 'file:y', 'terminal:session', 'tool:z'), { maxLength: 4 }),
    turns: fc.nat(3),
    gives_up: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(worker, { maxLength: 12 }), async (workers) => {
      const locks = createLocks()
      const inUse = new Set<string>()
      const overlaps: string[] = []
      const entered: number[] = []
      await Promise.all(
        workers.map(async ({ scope, keys, turns, gives_up }, index) => {
          const controller = new AbortController()
          const acquiring = locks.acquire(scope, keys, controller.signal)
          if (gives_up) controller.abort(new Error('gave up'))
          try {
            using _held = await acquiring
            entered.push(index)
            const mine = keys.map((key) => `${scope} ${key}`)
            overlaps.push(...mine.filter((key) => inUse.has(key)))
            for (const key of mine) inUse.add(key)
            for (let i = 0; i < turns; i++) await turn()
            for (const key of mine) inUse.delete(key)
          } catch (error) {
            expect((error as Error).message).toBe('gave up')
          }
        }),
      )
      expect(overlaps).toEqual([])
      for (const [index, { gives_up }] of workers.entries()) if (!gives_up) expect(entered).toContain(index)
    }),
    { numRuns: 60 },
  )
})

test('waiters get a key in the order of their requests', async () => {
  const locks = createLocks()
  const order: number[] = []
  const first = await locks.acquire('/w', ['file:a'], never)
  const others = [1, 2, 3].map(async (n) => {
    using _held = await locks.acquire('/w', ['file:a'], never)
    order.push(n)
    await turn()
  })
  first[Symbol.dispose]()
  await Promise.all(others)
  expect(order).toEqual([1, 2, 3])
})

test('a key that is not free in time is refused by name, and the queue continues', async () => {
  const locks = createLocks({ file: 5 })
  const first = await locks.acquire('/w', ['file:a'], never)
  const late = locks.acquire('/w', ['file:a', 'file:0'], never)
  await expect(late).rejects.toThrow(LockTimeout)
  await expect(locks.acquire('/w', ['file:a'], never)).rejects.toThrow('"file:a" was still in use')
  first[Symbol.dispose]()
  using _again = await locks.acquire('/w', ['file:a', 'file:0'], never)
})

test('an abort while waiting leaves the queue at once and holds nothing', async () => {
  const locks = createLocks()
  const controller = new AbortController()
  using _first = await locks.acquire('/w', ['file:b'], never)
  const waiting = locks.acquire('/w', ['file:a', 'file:b'], controller.signal)
  controller.abort(new Error('stop'))
  await expect(waiting).rejects.toThrow('stop')
  using _a = await locks.acquire('/w', ['file:a'], never)
})

test('releasing twice is harmless', async () => {
  const locks = createLocks()
  const first = await locks.acquire('/w', ['file:a'], never)
  first[Symbol.dispose]()
  using _second = await locks.acquire('/w', ['file:a'], never)
  first[Symbol.dispose]()
  const controller = new AbortController()
  const third = locks.acquire('/w', ['file:a'], controller.signal)
  controller.abort(new Error('still held'))
  await expect(third).rejects.toThrow('still held')
})
