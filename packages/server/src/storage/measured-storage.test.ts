import { expect, test } from 'vitest'
import type { StoreCall } from '../observability/index.ts'
import { until } from '../../testing/until.ts'
import { measuredStorage } from './measured-storage.ts'
import { openSqlite } from './sqlite/open.ts'

async function openMeasured() {
  const calls: StoreCall[] = []
  const opened = await openSqlite({ path: ':memory:' })
  const storage = measuredStorage(opened, (call) => calls.push(call))
  return { opened, storage, calls, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

test('every call of every store has its own name, and the stores have the functions of the wrapped ones', async () => {
  await using at = await openMeasured()
  const stores = Object.entries(at.opened).filter(([, store]) => typeof store === 'object' && store !== null)
  expect(stores.length).toBeGreaterThan(10)
  for (const [name, store] of stores)
    for (const method of new Set([...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]))
      if (method !== 'constructor' && method !== '__proto__' && typeof store[method] === 'function')
        expect(typeof (at.storage as any)[name][method], `${name}.${method}`).toBe('function')
  await at.storage.users.list()
  await at.storage.outbox.counts()
  await until(() => at.calls.length === 2)
  expect(at.calls.map(({ call, hasFailed }) => [call, hasFailed])).toEqual([
    ['users.list', false],
    ['outbox.counts', false],
  ])
  for (const { seconds } of at.calls) expect(seconds).toBeGreaterThanOrEqual(0)
})

test('a refused call is reported as failed, and its caller gets the refusal', async () => {
  await using at = await openMeasured()
  await at.storage[Symbol.asyncDispose]()
  await expect(at.storage.users.list()).rejects.toThrow()
  await until(() => at.calls.length === 1)
  expect(at.calls).toMatchObject([{ call: 'users.list', hasFailed: true }])
})

test('a call without a promise, such as a subscription, is passed on and not reported', async () => {
  await using at = await openMeasured()
  at.storage.outbox.subscribe(() => undefined)()
  expect(at.calls).toEqual([])
})
