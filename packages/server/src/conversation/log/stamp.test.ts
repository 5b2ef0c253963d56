import { EMPTY_STATE, type ConversationState, type Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import { statusChanged, userMessage } from '../drafts.ts'
import { stamp } from './stamp.ts'

const now = () => new Date('2026-01-02T03:04:05.678Z')
const message = (members: object = {}): Draft => ({ ...userMessage([]), ...members }) as Draft
const tokens = (prompt: number, completion: number) => ({
  model: 'm',
  prompt_tokens: prompt,
  completion_tokens: completion,
  cache_read_tokens: 1,
  cache_write_tokens: 2,
  reasoning_tokens: 3,
  context_window: 100 * prompt,
  per_turn_token: 0,
  response_id: 'r',
})
const usage = (members: object = {}): Draft =>
  ({
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id: 'agent',
    model: 'm',
    response_id: 'r',
    cost: 0.5,
    latency: 0,
    tokens: tokens(10, 4),
    ...members,
  }) as unknown as Draft

test('events get dense numbers after the state, ids, times, and the event before them as parent', () => {
  const state: ConversationState = { ...EMPTY_STATE, seq: 7 }
  const { events, state: after } = stamp(state, [message(), statusChanged('running'), message({ id: 'own' })], { now })
  expect(events.map(({ seq }) => seq)).toEqual([8, 9, 10])
  const [first, status, second] = events.map(({ event }) => event)
  expect(first).toMatchObject({ parent_id: null, timestamp: expect.stringContaining('2026-01-02T03:04:05.678') })
  expect(first!.id).toMatch(/^[0-9a-f-]{36}$/)
  expect(status).not.toHaveProperty('parent_id')
  expect(second).toMatchObject({ id: 'own', parent_id: first!.id })
  expect(after).toMatchObject({ seq: 10, leaf_event_id: 'own', execution_status: 'running' })
})

test('a root after the first one is marked as such', () => {
  const { events } = stamp({ ...EMPTY_STATE, has_tree: true }, [message()], { now })
  expect(events[0]!.event).toMatchObject({ parent_id: '__root__' })
})

test('totals of usage add up by usage id, and an unknown cost counts as zero', () => {
  const drafts = [usage(), usage({ cost: null, tokens: tokens(5, 1) }), usage({ usage_id: 'other' })]
  const { events, state } = stamp(EMPTY_STATE, drafts, { now })
  expect(state.stats['agent']).toMatchObject({
    model_name: 'm',
    accumulated_cost: 0.5,
    accumulated_token_usage: {
      prompt_tokens: 15,
      completion_tokens: 5,
      cache_read_tokens: 2,
      cache_write_tokens: 4,
      reasoning_tokens: 6,
      // The largest window, and the tokens of the newest answer.
      context_window: 1000,
      per_turn_token: 6,
    },
  })
  expect(state.stats['other']).toMatchObject({ accumulated_cost: 0.5 })
  expect(events[1]!.event).toMatchObject({ totals: { agent: { accumulated_cost: 0.5 } } })
})

test('a limit in the totals is kept, and a record that replaces the totals is not added and not stored twice', () => {
  const before = { model_name: 'm', accumulated_cost: 2, max_budget_per_task: 9, accumulated_token_usage: null }
  const added = stamp({ ...EMPTY_STATE, stats: { agent: before } }, [usage()], { now }).state.stats['agent']
  expect(added).toMatchObject({ accumulated_cost: 2.5, max_budget_per_task: 9 })
  const replaces = { ...before, accumulated_cost: 1 }
  const { events, state } = stamp({ ...EMPTY_STATE, stats: { agent: before } }, [usage({ replaces })], { now })
  expect(state.stats['agent']).toEqual(replaces)
  expect(events[0]!.event).not.toHaveProperty('replaces')
})
