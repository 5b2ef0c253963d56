/** Conversations as a list: search in four orders, counts, look-ups by several ids. */
import { type ConversationId, newConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type {
  ConversationQuery,
  ConversationRow,
  ConversationSort,
  NewConversation,
  Storage,
} from '../../../packages/server/src/storage/index.ts'
import { at, conversation, type MakePlace, own, range } from '../../../packages/server/testing/store-fixtures.ts'

const SORTS: readonly ConversationSort[] = ['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']

/** Nine conversations of ada, some with equal times, and some of another user; in order of creation. */
async function fill(storage: Storage): Promise<NewConversation[]> {
  const drafts = [5, 1, 4, 4, 4, 2, 9, 9, 3].map((second, index) =>
    conversation({
      created_at: at(second),
      updated_at: at(100 - second),
      status: index % 3 === 0 ? 'running' : 'idle',
    }),
  )
  for (const draft of drafts) {
    await storage.conversations.create(draft)
    await storage.conversations.create(conversation({ owner: 'bob', created_at: draft.created_at }))
  }
  return drafts
}

function sorted(drafts: readonly NewConversation[], sort: ConversationSort): ConversationId[] {
  const column = sort.startsWith('CREATED') ? 'created_at' : 'updated_at'
  const ascending = drafts
    .map((draft, made) => ({ draft, made }))
    .sort((a, b) => (a.draft[column] < b.draft[column] ? -1 : a.draft[column] > b.draft[column] ? 1 : a.made - b.made))
    .map(({ draft }) => draft.id)
  return sort.endsWith('DESC') ? ascending.reverse() : ascending
}

/** Follows the cursors to the end, calling `between` after each page. */
async function walk(
  storage: Storage,
  query: Omit<ConversationQuery, 'from'>,
  between: (page: ConversationRow[], next: ConversationId) => Promise<void> = async () => {},
): Promise<ConversationId[]> {
  const ids: ConversationId[] = []
  let from: ConversationId | undefined
  for (;;) {
    const { items, next } = await storage.conversations.search(from === undefined ? query : { ...query, from })
    ids.push(...items.map(({ id }) => id))
    if (next === null) return ids
    if (ids.length > 100) throw new Error('the listing does not come to an end')
    await between(items, next)
    from = next
  }
}

export function listingContract(makePlace: MakePlace): void {
  describe.each(SORTS)('a listing in order %s', (sort) => {
    test.each([1, 2, 3, 8, 9, 10])('pages of %i conversations contain each one once and in order', async (limit) => {
      await using place = await makePlace()
      await using storage = await place.open()
      const drafts = await fill(storage)
      expect(await walk(storage, { owner: 'ada', sort, limit })).toEqual(sorted(drafts, sort))
    })

    test('a listing of conversations can be restricted to a status', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const running = (await fill(storage)).filter(({ status }) => status === 'running')
      expect(await walk(storage, { owner: 'ada', sort, limit: 2, status: 'running' })).toEqual(sorted(running, sort))
      expect(await walk(storage, { owner: 'ada', sort, limit: 2, status: 'stuck' })).toEqual([])
    })

    test('a page begins with the row of its cursor; a cursor that is unknown or of another user starts at the beginning', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const expected = sorted(await fill(storage), sort)
      const bobs = (await storage.conversations.search({ owner: 'bob', sort, limit: 1 })).items[0]!
      const first = async (from: ConversationId) =>
        (await storage.conversations.search({ owner: 'ada', sort, limit: 1, from })).items[0]?.id
      expect(await first(expected[4]!)).toBe(expected[4])
      expect(await first(newConversationId())).toBe(expected[0])
      expect(await first(bobs.id)).toBe(expected[0])
    })

    test('unchanged conversations are listed once and in order while others are added, moved and deleted', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const drafts = await fill(storage)
      const touched = new Set<ConversationId>()
      let turn = 0
      const ids = await walk(storage, { owner: 'ada', sort, limit: 2 }, async ([listed], next) => {
        turn += 1
        const early = conversation({ created_at: at(-turn), updated_at: at(-turn) })
        const late = conversation({ created_at: at(500 + turn), updated_at: at(500 + turn) })
        await storage.conversations.create(early)
        if (turn < 5) await storage.conversations.create(late)
        // The row that begins the next page: moved to one end of the list, or removed.
        touched.add(next)
        const taken = turn % 2 === 0 ? null : await own(storage, next)
        if (taken === null) await storage.conversations.delete(next)
        else {
          const { epoch, seq } = taken.row
          const row = { updated_at: turn === 1 ? at(900) : at(-900) }
          await storage.conversations.append({ id: next, epoch, expectedSeq: seq, events: [], row })
        }
        if (listed !== undefined && turn === 2) {
          touched.add(listed.id)
          await storage.conversations.delete(listed.id)
        }
      })
      const untouched = sorted(drafts, sort).filter((id) => !touched.has(id))
      expect(untouched.length).toBeGreaterThan(2)
      expect(ids.filter((id) => untouched.includes(id))).toEqual(untouched)
    })
  })

  describe('looking up', () => {
    test('several rows or states are returned in the requested order, with null for unknown ids', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [a, b] = [conversation({ state: { seq: 0, json: '{"of":"a"}' } }), conversation()]
      await storage.conversations.create(a)
      await storage.conversations.create(b)
      const ids = [b.id, newConversationId(), a.id, b.id]
      expect((await storage.conversations.getMany(ids)).map((row) => row?.id ?? null)).toEqual([b.id, null, a.id, b.id])
      expect(await storage.conversations.states(ids)).toEqual([null, null, a.state, null])
    })

    test('conversations are counted per owner and status', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await fill(storage)
      expect(await storage.conversations.count('ada')).toBe(9)
      expect(await storage.conversations.count('ada', 'running')).toBe(3)
      expect(await storage.conversations.count('ada', 'stuck')).toBe(0)
      expect(await storage.conversations.count('nobody')).toBe(0)
    })

    test('children are those of the same owner that name the conversation as parent', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const parent = conversation()
      const children = range(1, 3).map(() => conversation({ parent_conversation_id: parent.id }))
      const foreign = conversation({ parent_conversation_id: parent.id, owner: 'bob' })
      for (const each of [parent, ...children, foreign, conversation()]) await storage.conversations.create(each)
      expect((await storage.conversations.children(parent.id)).toSorted()).toEqual(
        children.map(({ id }) => id).toSorted(),
      )
      expect(await storage.conversations.children(children[0]!.id)).toEqual([])
    })
  })
}
