import { expect, test } from 'vitest'
import { carriedCheckpoints, movedNote } from './forked-files.ts'

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

test.each([
  [null, 'instead.'],
  ['The copy has no .git in these folders: ".".', 'instead.\nThe copy has no .git in these folders: ".".'],
])('the agent of a fork learns its directory, and what the copy lacks: %s', (lacking, end) => {
  const files = { workingDir: '/w/fork', copiedFrom: '/w/source', lacking, tree: 'one', checkpoints: [] }
  const target = { to: null, owes_step: true, open_actions: [] } as unknown as Parameters<typeof movedNote>[1]
  const [note, ...others] = movedNote(files, target)
  expect(others).toEqual([])
  const [{ text }] = (note as unknown as { llm_message: { content: [{ text: string }] } }).llm_message.content
  expect(text).toContain('your working directory is now /w/fork.')
  expect(text.endsWith(end)).toBe(true)
})
