import type { ConversationExecutionStatus, StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { runEnd } from './run-end.ts'

type Status = ConversationExecutionStatus

test.each<[Status, Status, boolean]>([
  ['running', 'finished', true],
  ['running', 'error', true],
  ['running', 'stuck', true],
  ['running', 'paused', true],
  ['running', 'deleting', true],
  ['running', 'waiting_for_confirmation', false],
  ['waiting_for_confirmation', 'running', false],
  ['waiting_for_confirmation', 'deleting', true],
  ['idle', 'paused', false],
  ['idle', 'deleting', false],
  ['finished', 'deleting', false],
  ['running', 'running', false],
])('a change from %s to %s ends a run: %s', (before, execution_status, ends) => {
  expect(runEnd(before, { execution_status, stats: {} }) !== null).toBe(ends)
})

test("the end of a run contains the conversation's own error and the total cost", () => {
  const event = { kind: 'ConversationErrorEvent', detail: 'no such model' } as StoredEvent['event']
  const stats = { a: { accumulated_cost: 0.25 }, b: { accumulated_cost: 0.5 } } as never
  expect(runEnd('running', { execution_status: 'error', stats }, [{ seq: 1, event }])).toEqual({
    execution_status: 'error',
    error: 'no such model',
    cost: 0.75,
  })
  expect(runEnd('running', { execution_status: 'finished', stats: {} })).toMatchObject({ error: null, cost: null })
  expect(runEnd('running', { execution_status: 'paused', stats: {} })?.error).toMatch(/paused before/)
})
