import type { ConversationExecutionStatus } from '@parley/protocol'
import { expect, test } from 'vitest'
import { causeOf, type Cause } from './notify.ts'

type Status = ConversationExecutionStatus | null

test.each<[Status, Status, Cause | null]>([
  [null, 'idle', 'conversation.started'],
  [null, 'running', 'conversation.started'],
  ['idle', 'paused', 'conversation.paused'],
  ['running', 'paused', 'conversation.paused'],
  ['paused', 'running', 'conversation.resumed'],
  ['error', 'running', 'conversation.resumed'],
  ['stuck', 'running', 'conversation.resumed'],
  ['idle', 'running', null],
  ['finished', 'running', null],
  ['waiting_for_confirmation', 'running', null],
  ['running', 'finished', null],
  ['running', 'error', null],
  ['paused', 'paused', null],
  ['running', 'running', null],
  ['paused', null, 'conversation.deleted'],
])('from %s to %s: %s', (before, after, cause) => {
  expect(causeOf(before, after)).toBe(cause)
})

test('an edit is told as an update, unless the same commit is told as something else', () => {
  expect(causeOf('finished', 'finished', true)).toBe('conversation.updated')
  expect(causeOf('running', 'paused', true)).toBe('conversation.paused')
})
