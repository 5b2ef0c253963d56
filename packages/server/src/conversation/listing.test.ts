import { asConversationId, type ConversationProgress } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listed } from './listing.ts'

type Row = { id: string; parent_conversation_id: null | ReturnType<typeof asConversationId>; isMeant: boolean }

/** A source over `rows` that counts its reads. */
function sourceOf(all: readonly Row[]) {
  const asked = { rows: 0, read: 0 }
  return {
    asked,
    async rows(limit: number, from: string | undefined) {
      const begin = from === undefined ? 0 : all.findIndex(({ id }) => id === from)
      const items = all.slice(begin, begin + limit)
      asked.rows += items.length
      const following = all[begin + limit]
      return { items, next: following === undefined ? null : asConversationId(following.id) }
    },
    async read(rows: readonly Row[]) {
      asked.read += rows.length
      return rows.map(
        ({ id, isMeant }) =>
          ({ conversation_id: id, selected_repository: isMeant ? 'acme/shop' : null }) as ConversationProgress,
      )
    },
  }
}

const rows = fc
  .array(fc.record({ isMeant: fc.boolean(), isChild: fc.boolean() }), { maxLength: 400 })
  .map((list): Row[] =>
    list.map(({ isMeant, isChild }, index) => ({
      id: `c${index}`,
      parent_conversation_id: isChild ? asConversationId('p') : null,
      isMeant,
    })),
  )

test('consecutive pages contain the whole list, each conversation once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 100 }), fc.boolean(), fc.boolean(), async (all, limit, a, b) => {
      const source = sourceOf(all)
      const search = { limit, include_sub_conversations: a, ...(b && { selected_repository: 'acme/shop' }) }
      const found: string[] = []
      let page_id: ReturnType<typeof asConversationId> | null = null
      do {
        const page: Awaited<ReturnType<typeof listed>> = await listed(
          { ...search, ...(page_id && { page_id }) },
          source,
        )
        expect(page.items.length).toBeLessThanOrEqual(limit)
        found.push(...page.items.map(({ conversation_id }) => conversation_id))
        page_id = page.next_page_id
      } while (page_id !== null)
      const meant = all.filter((row) => (a || row.parent_conversation_id === null) && (!b || row.isMeant))
      expect(found).toEqual(meant.map(({ id }) => id))
    }),
    { numRuns: 200 },
  )
})

test('a page without filters reads only its rows, and one with filters ends after a thousand', async () => {
  const all = Array.from({ length: 5000 }, (_, n) => ({ id: `c${n}`, parent_conversation_id: null, isMeant: n > 2000 }))
  const plain = sourceOf(all)
  await listed({ limit: 20, include_sub_conversations: false }, plain)
  expect(plain.asked).toEqual({ rows: 20, read: 20 })
  const filtered = sourceOf(all)
  const search = { limit: 20, include_sub_conversations: false, selected_repository: 'acme/shop' }
  const { items, next_page_id } = await listed(search, filtered)
  expect(items).toEqual([])
  expect(next_page_id).not.toBeNull()
  expect(filtered.asked.rows).toBeLessThanOrEqual(1000)
})
