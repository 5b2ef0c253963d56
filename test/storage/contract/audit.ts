/** Contract of the audit log. */
import { describe, expect, test } from 'vitest'
import { at, type MakePlace, range } from '../../../packages/server/testing/store-fixtures.ts'

const entry = (n: number, user = 'ada') => ({
  at: at(n),
  user,
  key_id: `key of ${user}`,
  action: 'POST /api/things/{thing_id}',
  conversation_id: n % 2 === 0 ? null : `c${n}`,
  status: 200 + n,
  until: n % 5 === 0 ? at(n + 1) : null,
  count: n % 5 === 0 ? 3 : 1,
  subject: n % 4 === 0 ? 'bob' : null,
  detail: null,
})

export function auditContract(makePlace: MakePlace): void {
  describe('the audit', () => {
    test('audit entries are listed unchanged, newest first, also after reopening', async () => {
      await using place = await makePlace()
      {
        await using storage = await place.open()
        await storage.audit.write(
          range(1, 3).map((n) => entry(n)),
          [],
        )
        await storage.audit.write([], [])
      }
      await using storage = await place.open()
      await storage.audit.write([entry(4)], [])
      const { items, next } = await storage.audit.list({ limit: 10 })
      expect(items).toEqual([4, 3, 2, 1].map((n) => ({ id: expect.any(Number), ...entry(n) })))
      expect(next).toBeNull()
    })

    test('audit entries are read in pages of any size, of one user or of all, while the log grows', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.audit.write(
        range(1, 9).map((n) => entry(n, n % 3 === 0 ? 'eve' : 'ada')),
        [],
      )
      const wanted = { all: [9, 8, 7, 6, 5, 4, 3, 2, 1], eve: [9, 6, 3] }
      for (const limit of range(1, 10)) {
        for (const [who, ns] of Object.entries(wanted)) {
          const seen: number[] = []
          for (let after: number | null | undefined; after !== null;) {
            const page = { limit, ...(who === 'all' ? {} : { user: who }), ...(after === undefined ? {} : { after }) }
            const { items, next } = await storage.audit.list(page)
            seen.push(...items.map(({ status }) => status - 200))
            after = next
            if (seen.length === limit) await storage.audit.write([entry(50, 'eve')], [])
          }
          expect(
            seen.filter((n) => n !== 50),
            `${who} by ${limit}`,
          ).toEqual(ns)
        }
      }
    })

    test('pruning the audit log deletes only entries beyond a number or before a time', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.audit.write(
        range(1, 20).map((n) => entry(n)),
        [],
      )
      const left = async () => (await storage.audit.list({ limit: 100 })).items.map(({ status }) => status - 200)
      expect(await storage.audit.prune({ before: at(1), user: 'ada', atMost: 20 })).toBe(0)
      expect(await storage.audit.prune({ before: at(1), user: 'ada', atMost: 15 })).toBe(5)
      expect(await left()).toEqual(range(6, 20).reverse())
      expect(await storage.audit.prune({ before: at(9), user: 'eve', atMost: 100 })).toBe(3)
      expect(await left()).toEqual(range(9, 20).reverse())
    })

    test('pruning the audit log beyond a number concerns one user alone', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.audit.write(
        range(1, 20).map((n) => entry(n, n <= 10 ? 'ada' : 'eve')),
        [],
      )
      expect(await storage.audit.prune({ before: at(1), user: 'eve', atMost: 4 })).toBe(6)
      const left = async (user: string) => (await storage.audit.list({ limit: 100, user })).items.length
      expect([await left('ada'), await left('eve')]).toEqual([10, 4])
      expect((await storage.audit.users()).toSorted()).toEqual(['ada', 'eve'])
    })

    test('an audit entry counts further requests, unless it was deleted', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const ids = await storage.audit.write([entry(1), entry(3)], [])
      const more = { until: at(9), count: 7, conversation_id: null }
      await storage.audit.write(
        [],
        [
          { id: ids[0]!, ...more },
          { id: 999, ...more },
        ],
      )
      const { items } = await storage.audit.list({ limit: 9 })
      expect(items).toEqual([
        { id: ids[1], ...entry(3) },
        { id: ids[0], ...entry(1), ...more },
      ])
    })

    test('ids of audit entries are never reused', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.audit.write([entry(1)], [])
      const [first] = (await storage.audit.list({ limit: 1 })).items
      await storage.audit.prune({ before: at(9), user: 'ada', atMost: 0 })
      await storage.audit.write([entry(2)], [])
      const [second] = (await storage.audit.list({ limit: 1 })).items
      expect(second!.id).toBeGreaterThan(first!.id)
    })
  })
}
