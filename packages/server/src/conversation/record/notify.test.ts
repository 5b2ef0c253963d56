import type { ConversationExecutionStatus } from '@parley/protocol'
import { expect, test } from 'vitest'
import { topicOf, type Topic } from './notify.ts'

type Status = ConversationExecutionStatus | null

test.each<[Status, Status, Topic | null]>([
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
])('from %s to %s: %s', (before, after, topic) => {
  expect(topicOf(before, after)).toBe(topic)
})

test('an edit is an update, unless the same commit has another topic', () => {
  expect(topicOf('finished', 'finished', true)).toBe('conversation.updated')
  expect(topicOf('running', 'paused', true)).toBe('conversation.paused')
})
