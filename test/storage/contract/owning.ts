/** Owners: invariants S3 and S6, numbers of nodes, and two handles that take a conversation from each other. */
import { newConversationId, type ConversationId, type StoredEvent } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Append, ConversationRow, NodeNumber, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  everything,
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

type Action = 'own' | 'append' | 'repeat' | 'release'

/** Two owners that act one after the other, or at the same time. */
const turns = fc.array(
  fc.record({
    first: fc.constantFrom<Action>('own', 'own', 'append', 'append', 'append', 'repeat', 'release'),
    second: fc.constantFrom<Action | null>(null, null, 'own', 'append', 'repeat', 'release'),
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
      expect(await conversations.get(drafts[0]!.id)).toMatchObject({ node, epoch: 0 })
      await conversations.release(node)
      expect(await conversations.get(mine.id)).toMatchObject({ node: null, epoch: 0 })
      expect(await conversations.orphans(node, 9)).toHaveLength(4)
    })

    test('orphans follow the stored status', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [first, second] = [await owned(storage, { status: 'running' }), await owned(storage)]
      const set = (row: ConversationRow, status: ConversationRow['status']) =>
        storage.conversations.append({ ...nextAppend(row, 0), row: { status } })
      await Promise.all([set(first, 'paused'), set(second, 'running')])
      await storage.conversations.release(NODE)
      expect(await storage.conversations.orphans(NODE, 9)).toEqual([second.id])
    })

    test('a release leaves the conversations of other nodes', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const theirs = conversation({ node: NODE + 1 })
      await storage.conversations.create(theirs)
      await storage.conversations.release(NODE)
      expect(await storage.conversations.get(theirs.id)).toMatchObject({ node: NODE + 1 })
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
