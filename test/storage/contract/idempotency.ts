/** Contract of requests that carry an `Idempotency-Key`. */
import { describe, expect, test } from 'vitest'
import { at, type MakePlace, range } from '../../../packages/server/testing/store-fixtures.ts'
import type { Storage } from '../../../packages/server/src/storage/index.ts'

const begin = (storage: Storage, user: string, key: string, second = 1) =>
  storage.idempotency.begin(user, key, { digest: `digest of ${key}`, at: at(second), since: at(0) })
const known = async (storage: Storage, user: string, keys: readonly string[]) => {
  const rows = await Promise.all(keys.map((key) => storage.idempotency.get(user, key, at(0))))
  return keys.filter((_, index) => rows[index] !== null)
}

export function idempotencyContract(makePlace: MakePlace): void {
  describe('requests with an Idempotency-Key', () => {
    test('a key belongs to one request of one user, whose answer is stored, also after reopening', async () => {
      await using place = await makePlace()
      {
        await using storage = await place.open()
        expect(await begin(storage, 'ada', 'k')).toBe(true)
        expect(await begin(storage, 'ada', 'k')).toBe(false)
        expect(await begin(storage, 'bob', 'k')).toBe(true)
        expect(await begin(storage, 'ada', 'l')).toBe(true)
        await storage.idempotency.answered('ada', 'k', 'sealed answer')
        await storage.idempotency.answered('ada', 'l', null)
      }
      await using storage = await place.open()
      const get = (user: string, key: string) => storage.idempotency.get(user, key, at(0))
      const digest = 'digest of k'
      expect(await get('ada', 'k')).toEqual({ digest, state: 'answered', sealed: 'sealed answer' })
      expect(await get('ada', 'l')).toEqual({ digest: 'digest of l', state: 'answered', sealed: null })
      expect(await get('bob', 'k')).toEqual({ digest, state: 'begun', sealed: null })
      expect(await get('eve', 'k')).toBeNull()
      expect(await get('ada', 'K')).toBeNull()
    })

    test('one of several requests that begin together gets the key', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const began = await Promise.all(range(1, 8).map(() => begin(storage, 'ada', 'k')))
      expect(began.filter(Boolean)).toHaveLength(1)
    })

    test('a key is free again when its request was forgotten or is too old, and only then', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await begin(storage, 'ada', 'k')
      await storage.idempotency.forget('bob', 'k')
      expect(await begin(storage, 'ada', 'k')).toBe(false)
      await storage.idempotency.forget('ada', 'k')
      expect(await begin(storage, 'ada', 'k', 5)).toBe(true)
      await storage.idempotency.answered('ada', 'k', 'first')
      const again = (since: number) =>
        storage.idempotency.begin('ada', 'k', { digest: 'another', at: at(9), since: at(since) })
      expect(await again(5)).toBe(false)
      expect(await storage.idempotency.get('ada', 'k', at(6))).toBeNull()
      expect(await again(6)).toBe(true)
      expect(await storage.idempotency.get('ada', 'k', at(6))).toEqual({
        digest: 'another',
        state: 'begun',
        sealed: null,
      })
    })

    test("pruning deletes the oldest requests of one user beyond a number or a sum of bytes, and no other user's", async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const keys = range(1, 10).map((n) => `k${n}`)
      for (const [index, key] of keys.entries()) {
        await begin(storage, 'ada', key, index)
        await storage.idempotency.answered('ada', key, 'x'.repeat(100))
        await begin(storage, 'bob', key, index)
      }
      const { idempotency } = storage
      expect(await idempotency.prune('ada', { atMost: 10, maxBytes: 1000 })).toBe(0)
      expect(await idempotency.prune('ada', { atMost: 7, maxBytes: 1000 })).toBe(3)
      expect(await known(storage, 'ada', keys)).toEqual(keys.slice(3))
      expect(await idempotency.prune('ada', { atMost: 7, maxBytes: 450 })).toBe(3)
      expect(await known(storage, 'ada', keys)).toEqual(keys.slice(6))
      expect(await known(storage, 'bob', keys)).toEqual(keys)
      // The answer of a request whose row is gone has no place any more.
      await idempotency.answered('ada', 'k1', 'late')
      expect(await known(storage, 'ada', keys)).toEqual(keys.slice(6))
    })

    test('requests of all users before a time are deleted, oldest first', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const keys = range(1, 6).map((n) => `k${n}`)
      for (const [index, key] of keys.entries()) await begin(storage, index % 2 === 0 ? 'ada' : 'bob', key, index + 1)
      expect(await storage.idempotency.expire(at(1))).toBe(0)
      expect(await storage.idempotency.expire(at(4))).toBe(3)
      expect(await known(storage, 'ada', keys)).toEqual(['k5'])
      expect(await known(storage, 'bob', keys)).toEqual(['k4', 'k6'])
    })
  })
}
