import { expect, it } from 'vitest'
import type { Row } from '../../log/rows.ts'
import { hitsOf, marked, nearest } from './hits.ts'

const row = (seq: number, answer = 0): Row => ({
  key: String(seq),
  type: 'tool',
  seq,
  answer,
  turn: 0,
  from: 'agent',
  name: '',
  size: 0,
})

it('hits are in the order of the log, a result belongs to the row of its call, and other branches are counted', () => {
  const found = [9, 5, 4, 2].map((seq) => ({ seq, excerpt: `text ${seq}` }))
  const { shown, elsewhere } = hitsOf(found, [row(2), row(4, 5)])
  expect(shown.map(({ seq, row: { key } }) => [seq, key])).toEqual([
    [2, '2'],
    [4, '4'],
    [5, '4'],
  ])
  expect(elsewhere).toBe(1)
  expect([nearest(shown, 100), nearest(shown, 4), nearest(shown, 1)]).toEqual([2, 1, 0])
})

it('the sought text is marked in any case of its letters, and characters of patterns are plain', () => {
  expect(marked('a (B) and (b)', '(b)')).toEqual(['a ', '(B)', ' and ', '(b)', ''])
  expect(marked('text', '')).toEqual(['text'])
})
