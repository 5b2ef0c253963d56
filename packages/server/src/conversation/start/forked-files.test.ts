import { expect, test } from 'vitest'
import { carriedCheckpoints } from './forked-files.ts'

const copied = (...seqs: number[]) => seqs.map((seq) => ({ seq }))

test('each copied event keeps the last checkpoint at or before it', () => {
  const checkpoints = [
    { seq: 0, tree: 'base' },
    { seq: 4, tree: 'one' },
    { seq: 7, tree: 'other branch' },
    { seq: 9, tree: 'two' },
  ]
  // Events 1, 3, 4, 5, 9 and 10 of the source become 1 to 6; three more events follow.
  expect(carriedCheckpoints({ tree: 'two', checkpoints }, copied(1, 3, 4, 5, 9, 10), 9)).toEqual([
    { seq: 0, tree: 'base' },
    { seq: 3, tree: 'one' },
    { seq: 5, tree: 'two' },
  ])
})

test('a checkpoint between two copied events belongs to the later one', () => {
  const checkpoints = [
    { seq: 0, tree: 'base' },
    { seq: 5, tree: 'edited' },
  ]
  expect(carriedCheckpoints({ tree: 'edited', checkpoints }, copied(1, 2, 8), 5)).toEqual([
    { seq: 0, tree: 'base' },
    { seq: 3, tree: 'edited' },
  ])
})

test('the copied files get a checkpoint when no copied event has it', () => {
  const checkpoints = [{ seq: 3, tree: 'late' }]
  expect(carriedCheckpoints({ tree: 'late', checkpoints }, copied(1, 2), 6)).toEqual([{ seq: 6, tree: 'late' }])
})
