import { expect, test } from 'vitest'
import { compare } from './against.ts'

test('a comparison gives the cost of this working copy over that of the other, pair by pair', () => {
  const mine = [{ 'one turn (ms)': 30 }, { 'one turn (ms)': 22 }, { 'one turn (ms)': 20 }]
  const other = [{ 'one turn (ms)': 20 }, { 'one turn (ms)': 20 }, { 'one turn (ms)': 20 }]
  expect(compare(mine, other)).toEqual([{ figure: 'one turn (ms)', ratios: [1.5, 1.1, 1], median: 1.1 }])
})

test('a comparison counts a figure per second upside down, because more is better', () => {
  const [comparison] = compare([{ 'turns (turns/s)': 50 }], [{ 'turns (turns/s)': 100 }])
  expect(comparison?.ratios).toEqual([2])
})

test('a comparison adds the empty server to memory that may be near zero', () => {
  const added = 'memory added by 1000 stored conversations (MB)'
  const empty = 'memory of an empty server (MB)'
  const comparisons = compare([{ [added]: 2, [empty]: 80 }], [{ [added]: -1, [empty]: 83 }])
  expect(comparisons.find(({ figure }) => figure === added)?.ratios).toEqual([1])
})
