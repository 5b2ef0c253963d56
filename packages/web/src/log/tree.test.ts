import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Entry, isTree } from './entry.ts'
import { branchOf } from './rows.ts'
import { segmentsOf } from './tree.ts'

const entry = (seq: number, members: Partial<Entry> = {}): Entry => ({
  seq,
  kind: 'MessageEvent',
  tool: '',
  from: 'agent',
  at: seq,
  parent: 0,
  refers: 0,
  size: 0,
  event: undefined,
  ...members,
})
const moved = (seq: number, to: number) =>
  entry(seq, { kind: 'ConversationStateUpdateEvent', tool: 'leaf_event_id', refers: to })

/** A log of random navigations, also to the empty tree, and its leaf. */
const log = fc.array(fc.tuple(fc.boolean(), fc.nat()), { maxLength: 80 }).map((steps) => {
  const entries: Entry[] = []
  let leaf = 0
  for (const [isMove, place] of steps) {
    const seq = entries.length + 1
    const events = [0, ...entries.filter(isTree).map((one) => one.seq)]
    if (isMove) entries.push(moved(seq, (leaf = events[place % events.length]!)))
    else {
      entries.push(entry(seq, { parent: leaf }))
      leaf = seq
    }
  }
  return { entries, leaf }
})

it('the tree of random navigations has every event once, and its shown segments are the branch of the leaf', () => {
  fc.assert(
    fc.property(log, ({ entries, leaf }) => {
      const parents = new Map(entries.map(({ seq, parent }) => [seq, parent]))
      const segments = segmentsOf(entries, leaf)
      const chain = ({ first, last }: { first: number; last: number }) => {
        const seqs = [last]
        while (seqs[0] !== first) seqs.unshift(parents.get(seqs[0]!)!)
        return seqs
      }
      const all = segments.map(chain)
      expect(all.map(({ length }) => length)).toEqual(segments.map(({ count }) => count))
      expect(all.flat().sort((a, b) => a - b)).toEqual(entries.filter(isTree).map(({ seq }) => seq))
      const branch = branchOf(entries, leaf).filter(isTree)
      expect(segments.filter(({ isShown }) => isShown).flatMap(chain)).toEqual(branch.map(({ seq }) => seq))
      expect(segments.filter(({ isLeaf }) => isLeaf).map(({ last }) => last)).toEqual(leaf === 0 ? [] : [leaf])
    }),
  )
})

it('a log without navigations is one segment, named by its first message of a person', () => {
  const entries = [
    entry(1, { kind: 'SystemPromptEvent' }),
    entry(2, { parent: 1, from: 'user' }),
    entry(3, { parent: 2 }),
  ]
  const [segment, ...others] = segmentsOf(entries, 3)
  expect(segment).toEqual({ first: 1, last: 3, count: 3, depth: 0, isShown: true, isLeaf: true, title: 2, at: 1 })
  expect(others).toEqual([])
})

it('two branches are deeper than what they continue, and what follows the leaf alone is not', () => {
  const entries = [1, 2, 3].map((seq) => entry(seq, { parent: seq - 1 }))
  const fork = [...entries, moved(4, 1), entry(5, { parent: 1 })]
  const shapes = (all: Entry[], leaf: number) =>
    segmentsOf(all, leaf).map(({ first, depth, isShown }) => [first, depth, isShown])
  expect(shapes(fork, 5)).toEqual([
    [1, 0, true],
    [2, 1, false],
    [5, 1, true],
  ])
  expect(shapes([...entries, moved(4, 1)], 1)).toEqual([
    [1, 0, true],
    [2, 0, false],
  ])
})

it('the segments of 50,000 events, with a fork in every hundredth, are computed without recursion', () => {
  const entries = Array.from({ length: 50_000 }, (_, index) =>
    entry(index + 1, { parent: index % 100 === 99 ? Math.max(0, index - 50) : index }),
  )
  const segments = segmentsOf(entries, 50_000)
  expect(segments.reduce((sum, { count }) => sum + count, 0)).toBe(50_000)
  expect(segments.length).toBeGreaterThan(1_000)
  expect(Math.max(...segments.map(({ depth }) => depth))).toBeGreaterThan(400)
})
