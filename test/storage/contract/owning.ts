/** Owners: invariants S3 and S6, numbers of nodes, and two handles that take a conversation from each other. */
import { newConversationId, type ConversationId, type StoredEvent } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Append, ConversationRow, NodeNumber, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  at,
  conversation,
  everything,
  HERE,
  type MakePlace,
  messages,
  nextAppend,
  NODE,
  notifications,
  own,
  owned,
  seqs,
  told,
} from '../../../packages/server/testing/store-fixtures.ts'

/** Interleavings that are played. */
const RUNS = 200

type Action = 'own' | 'claim' | 'append' | 'repeat' | 'release'

/** Two owners that act one after the other, or at the same time. */
const turns = fc.array(
  fc.record({
    first: fc.constantFrom<Action>('own', 'own', 'claim', 'append', 'append', 'append', 'repeat', 'release'),
    second: fc.constantFrom<Action | null>(null, null, 'own', 'claim', 'append', 'repeat', 'release'),
    isSwapped: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

/** A process that believes what the store has answered. It acts on one conversation. */
class Owner {
  readonly #storage: Storage
  readonly #node: NodeNumber
  readonly #id: ConversationId
  #row: ConversationRow | null = null
  #newest: Append | null = null
  /** Events whose append was acknowledged, and the epoch of each. */
  readonly acknowledged = new Map<string, number>()

  constructor(storage: Storage, node: NodeNumber, id: ConversationId) {
    this.#storage = storage
    this.#node = node
    this.#id = id
  }

  async act(action: Action): Promise<void> {
    if (action === 'release') return this.#storage.conversations.release(this.#node)
    if (action === 'claim') return void (await this.#storage.conversations.claim(this.#id, this.#node))
    if (action === 'own') return this.#own()
    const append = action === 'append' ? this.#row && nextAppend(this.#row) : this.#newest
    if (append !== null) await this.#append(append)
  }

  async #own(): Promise<void> {
    const before = this.#row?.epoch ?? 0
    const owning = await this.#storage.conversations.own(this.#id, this.#node)
    expect(owning.kind).not.toBe('unknown')
    if (owning.kind === 'held') expect(owning.by).not.toBe(this.#node)
    this.#row = owning.kind === 'owned' ? owning.row : null
    this.#newest = null
    if (owning.kind !== 'owned') return
    expect(owning.row.epoch).toBeGreaterThan(before)
    expect(owning.row.node).toBe(this.#node)
  }

  /** An append that is refused has another owner: the log of an owner never ends elsewhere than the owner knows. */
  async #append(append: Append): Promise<void> {
    try {
      await this.#storage.conversations.append(append)
    } catch (error) {
      expect(error).toMatchObject({ code: 'conflict', details: { reason: 'epoch' } })
      this.#row = this.#newest = null
      return
    }
    this.#newest = append
    for (const { event } of append.events) this.acknowledged.set(event.id, append.epoch)
    if (this.#row !== null) this.#row = { ...this.#row, seq: append.expectedSeq + append.events.length }
  }
}

/** A running conversation with an idle sub-agent, which has a running one of its own. */
async function rootOf(storage: Storage, node: NodeNumber) {
  const top = conversation({ node, status: 'running' })
  const child = conversation({ node, parent_conversation_id: top.id, isSubAgent: true })
  const grandchild = conversation({ node, status: 'running', parent_conversation_id: child.id, isSubAgent: true })
  for (const each of [top, child, grandchild]) await storage.conversations.create(each)
  return [top, child, grandchild] as const
}

/** The epochs of the stored events, in the order of the log. */
function epochsOf(events: readonly StoredEvent[], owners: readonly Owner[]): number[] {
  return events.map(({ event }) => owners.map((owner) => owner.acknowledged.get(event.id)).find(Boolean) ?? 0)
}

export function owningContract(makePlace: MakePlace): void {
  describe('owning', () => {
    test('owning a conversation raises its epoch each time', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const first = await owned(storage)
      const second = await storage.conversations.own(first.id, NODE)
      expect(first).toMatchObject({ epoch: 1, node: NODE })
      const row = { ...first, epoch: 2 }
      expect(second).toEqual({ kind: 'owned', row, state: null, crashes: 0, restoredFrom: null })
    })

    test('owning an unknown conversation answers so', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.conversations.own(newConversationId(), NODE)).toEqual({ kind: 'unknown' })
    })

    test('a conversation is created with its owner, who may append', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const draft = conversation({ node: NODE })
      await storage.conversations.create(draft)
      const row = (await storage.conversations.get(draft.id))!
      expect(row.node).toBe(NODE)
      await storage.conversations.append(nextAppend(row))
      expect(await storage.events.count(draft.id)).toBe(1)
    })

    test('no two nodes get the same number, also after reopening', async () => {
      await using place = await makePlace()
      const first = await place.open()
      await using beside = await place.open()
      const numbers = [await first.nodes.add(), await beside.nodes.add(), await first.nodes.add()]
      await first[Symbol.asyncDispose]()
      await using again = await place.open()
      numbers.push(await again.nodes.add())
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    })

    test('a reserved number is new, and is stored with the first write that follows', async () => {
      await using place = await makePlace()
      const first = await place.open()
      const added = await first.nodes.add()
      const reserved = await first.nodes.reserve()
      expect(reserved).toBeGreaterThan(added)
      await first.conversations.create(conversation({ node: reserved }))
      await first[Symbol.asyncDispose]()
      await using again = await place.open()
      expect(await again.nodes.add()).toBeGreaterThan(reserved)
    })

    test('a conversation that should run is an orphan until it has a node, and again after its release', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const node = await storage.nodes.add()
      const drafts = [1, 2, 3].map(() => conversation({ status: 'running' }))
      for (const each of [...drafts, conversation({ status: 'paused' })]) await conversations.create(each)
      const mine = conversation({ status: 'running', node })
      await conversations.create(mine)
      const taken = [await conversations.orphans(node, 2), await conversations.orphans(node, 2)]
      expect(taken.map(({ length }) => length)).toEqual([2, 1])
      expect(taken.flat().toSorted()).toEqual(drafts.map(({ id }) => id).toSorted())
      expect(await conversations.orphans(node, 2)).toEqual([])
      expect(await conversations.get(drafts[0]!.id)).toMatchObject({ node, epoch: 1 })
      const wanting = [...drafts, mine].map(({ id }) => id).toSorted()
      expect((await conversations.wanting(node)).toSorted()).toEqual(wanting)
      await conversations.release(node)
      expect(await conversations.get(mine.id)).toMatchObject({ node: null, epoch: 0 })
      expect(await conversations.orphans(node, 9)).toHaveLength(4)
    })

    test('orphans follow the stored status, or what an append says beside it', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const starting = { status: 'idle', wants_owner: true } as const
      const ended = await Promise.all([owned(storage, { status: 'running' }), owned(storage, starting)])
      const begun = await Promise.all([owned(storage), owned(storage, starting), owned(storage), owned(storage)])
      const set = (row: ConversationRow, change: NonNullable<Append['row']>) =>
        conversations.append({ ...nextAppend(row, 0), row: change })
      await set(ended[0], { status: 'paused' })
      await set(ended[1], { wants_owner: false })
      await set(begun[0], { status: 'running' })
      await set(begun[1], { updated_at: at(1) })
      await set(begun[2], starting)
      await set(begun[3], { wants_owner: true })
      await conversations.release(NODE)
      expect((await conversations.orphans(NODE, 9)).toSorted()).toEqual(begun.map(({ id }) => id).toSorted())
    })

    test('a claim raises the epochs of a root that had another owner, and keeps those of its own', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const [first, second] = [await storage.nodes.add(), await storage.nodes.add()]
      const [top, child, grandchild] = await rootOf(storage, first)
      const other = conversation({ node: first, status: 'running' })
      await conversations.create(other)
      const seen = async () =>
        (await conversations.getMany([top.id, child.id, grandchild.id])).map((row) => [row?.node, row?.epoch])
      expect(await seen()).toEqual([0, 0, 0].map((epoch) => [first, epoch]))
      expect(await conversations.claim(child.id, first)).toEqual({ kind: 'claimed', wanting: [] })
      expect(await seen()).toEqual([0, 0, 0].map((epoch) => [first, epoch]))
      const claiming = await conversations.claim(grandchild.id, second)
      expect(claiming).toMatchObject({ kind: 'claimed' })
      const wanting = claiming.kind === 'claimed' ? claiming.wanting.toSorted() : []
      expect(wanting).toEqual([top.id, grandchild.id].toSorted())
      expect(await seen()).toEqual([1, 1, 1].map((epoch) => [second, epoch]))
      // Loading raises the epoch of one conversation only.
      await own(storage, child.id, second)
      expect(await seen()).toEqual([1, 2, 1].map((epoch) => [second, epoch]))
      expect(await conversations.get(other.id)).toMatchObject({ node: first, epoch: 0 })
      expect(await conversations.claim(newConversationId(), second)).toEqual({ kind: 'unknown' })
    })

    test('an orphan is claimed with its whole root, and an earlier owner of any of it is refused', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const [first, second] = [await storage.nodes.add(), await storage.nodes.add()]
      const root = await rootOf(storage, first)
      expect((await conversations.orphans(second, 9)).toSorted()).toEqual([root[0].id, root[2].id].toSorted())
      for (const { id } of root) {
        const append = nextAppend({ ...(await conversations.get(id))!, epoch: 0 })
        await expect(conversations.append(append)).rejects.toMatchObject({ details: { reason: 'epoch' } })
      }
      expect(await conversations.orphans(second, 9)).toEqual([])
    })

    test('a sub-agent has the place of its parent, and is not created for a node that the parent does not have', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const parent = conversation({ node: NODE, place: HERE })
      await conversations.create(parent)
      const child = { parent_conversation_id: parent.id, isSubAgent: true }
      const [mine, late] = [conversation({ ...child, node: NODE }), conversation({ ...child, node: NODE + 1 })]
      expect(await conversations.create(mine)).toBe('created')
      expect(await conversations.get(mine.id)).toMatchObject({ place: HERE, node: NODE })
      const refused = { code: 'conflict', details: { reason: 'epoch' } }
      await expect(conversations.create(late)).rejects.toMatchObject(refused)
      expect(await conversations.get(late.id)).toBeNull()
    })

    test('the holder of a conversation is its node, or none', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const node = await storage.nodes.add()
      const draft = conversation({ node })
      await storage.conversations.create(draft)
      expect(await storage.conversations.holder(draft.id)).toMatchObject({ node, place: null })
      await storage.conversations.release(node)
      const none = { node: null, isLive: false, url: '', place: null }
      expect(await storage.conversations.holder(draft.id)).toEqual(none)
      expect(await storage.conversations.holder(newConversationId())).toBeNull()
    })

    test('a release leaves the conversations of other nodes', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const theirs = conversation({ node: NODE + 1 })
      await storage.conversations.create(theirs)
      await storage.conversations.release(NODE)
      expect(await storage.conversations.get(theirs.id)).toMatchObject({ node: NODE + 1 })
    })

    test('a node that still works releases conversations that can move, except for those of the roots that it keeps', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const drafts = [
        conversation({ node: NODE }),
        conversation({ node: NODE }),
        conversation({ node: NODE, place: HERE }),
      ]
      const [moving, kept, local] = drafts as [(typeof drafts)[0], (typeof drafts)[0], (typeof drafts)[0]]
      const child = conversation({ node: NODE, parent_conversation_id: kept.id, isSubAgent: true })
      for (const draft of [...drafts, child]) await conversations.create(draft)
      await conversations.release(NODE, [kept.id])
      const nodes = async () =>
        (await conversations.getMany([moving, kept, child, local].map(({ id }) => id))).map((row) => row?.node)
      expect(await nodes()).toEqual([null, NODE, NODE, NODE])
      await conversations.release(NODE, [])
      expect(await nodes()).toEqual([null, null, null, NODE])
    })
  })

  describe('an append whose answer was lost', () => {
    test('a repeated append is stored once, and its notifications are written once (S6)', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const row = await owned(storage)
      const append = nextAppend(row, 3, { row: { status: 'paused' }, outbox: [{ topic: 't', payload: 'p' }] })
      await storage.conversations.append(append)
      const before = await everything(storage, row.id)
      await storage.conversations.append(append)
      expect(await everything(storage, row.id)).toEqual(before)
      expect(await notifications(storage)).toHaveLength(1)
      // The owner continues after it.
      await storage.conversations.append(nextAppend({ ...row, seq: 3 }))
      expect(seqs(await storage.events.page(row.id, { limit: 9 }))).toEqual([1, 2, 3, 4])
    })

    test.each<[string, string, (first: Append, row: ConversationRow) => Append]>([
      ['other event ids', 'seq', (first) => ({ ...first, events: messages(2) })],
      ['one other event id', 'seq', ({ events, ...first }) => ({ ...first, events: [events[0]!, ...messages(1, 2)] })],
      ['fewer events', 'seq', ({ events, ...first }) => ({ ...first, events: events.slice(0, 1) })],
      ['an older epoch', 'epoch', (first) => ({ ...first, epoch: first.epoch - 1 })],
    ])('an append at a taken place with %s is no repetition', async (_, reason, changed) => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const first = nextAppend(row, 2)
      await storage.conversations.append(first)
      const before = await everything(storage, row.id)
      const refused = { code: 'conflict', details: { reason } }
      await expect(storage.conversations.append(changed(first, row))).rejects.toMatchObject(refused)
      expect(await everything(storage, row.id)).toEqual(before)
    })

    test('a repetition after the log has grown further, or has another owner, is refused', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const first = nextAppend(row, 1)
      await storage.conversations.append(first)
      await storage.conversations.append(nextAppend({ ...row, seq: 1 }))
      await expect(storage.conversations.append(first)).rejects.toMatchObject({ details: { reason: 'seq' } })
      await own(storage, row.id, NODE + 1)
      await expect(storage.conversations.append(first)).rejects.toMatchObject({ details: { reason: 'epoch' } })
    })
  })

  test(`${RUNS} random interleavings of two owners keep the log dense and its epochs rising`, async () => {
    await using place = await makePlace()
    await using first = await place.open()
    await using second = await place.open()
    const nodes = [await first.nodes.add(), await second.nodes.add()]
    await fc.assert(
      fc.asyncProperty(turns, async (played) => {
        const draft = conversation()
        await first.conversations.create(draft)
        const owners = [first, second].map((storage, index) => new Owner(storage, nodes[index]!, draft.id))
        for (const { first: one, second: other, isSwapped } of played) {
          const [left, right] = isSwapped ? owners.toReversed() : owners
          await Promise.all([left!.act(one), other === null ? undefined : right!.act(other)])
        }
        const events = await first.events.page(draft.id, { limit: 1_000 })
        expect(seqs(events)).toEqual(events.map((_, index) => index + 1))
        const epochs = epochsOf(events, owners)
        expect(epochs).toEqual(epochs.toSorted((a, b) => a - b))
        const acknowledged = owners.flatMap((owner) => [...owner.acknowledged.keys()])
        expect(events.map(({ event }) => event.id).toSorted()).toEqual(acknowledged.toSorted())
      }),
      { numRuns: RUNS },
    )
  }, 60_000)
}
