import { describe, expect, test } from 'vitest'
import type { Event, StoredEvent } from './event.ts'
import { asEventId } from './ids.ts'
import { replay, type ConversationState } from './state.ts'
import { plainMessage, userMessage } from './user-message.ts'

const log = (...events: object[]): StoredEvent[] =>
  events.map((event, index) => ({
    seq: index + 1,
    event: { id: asEventId(`e${index + 1}`), timestamp: '2026-01-01T00:00:00.000000', ...event } as unknown as Event,
  }))
const after = (...events: object[]): ConversationState => replay(log(...events))

const said = (text: string, members: object = {}) => ({
  ...userMessage([{ type: 'text', text, cache_prompt: false }]),
  ...members,
})
const answered = (text: string, llm_response_id: string | null) => ({
  ...said(''),
  source: 'agent',
  llm_message: plainMessage('assistant', [{ type: 'text', text, cache_prompt: false }]),
  llm_response_id,
})
const call = (id: string, llm_response_id = 'r1', members: object = {}) => ({
  kind: 'ActionEvent',
  source: 'agent',
  id: asEventId(id),
  action: { kind: 'ThinkAction', thought: '' },
  tool_name: 'think',
  tool_call_id: `call-${id}`,
  llm_response_id,
  security_risk: 'LOW',
  ...members,
})
const result = (action_id: string, kind = 'ThinkObservation') => ({
  kind: 'ObservationEvent',
  action_id,
  observation: { kind, content: [], is_error: false },
})
const failed = (tool_call_id: string) => ({ kind: 'AgentErrorEvent', tool_call_id })
const rejected = (action_id: string) => ({ kind: 'UserRejectObservation', action_id })
const asks = (batch: string, ids: string[], members: object = {}) => ({
  kind: 'ConfirmationRequestedEvent',
  id: asEventId(batch),
  llm_response_id: 'r1',
  actions: ids.map((action_id) => ({ action_id, risk: 'LOW' })),
  ...members,
})
const decides = (batch_id: string | undefined, ids: string[], decision = 'accept', llm_response_id = 'r1') => ({
  kind: 'ApprovalEvent',
  ...(batch_id === undefined ? {} : { batch_id }),
  llm_response_id,
  action_ids: ids,
  decision,
  actor: 'k',
  reason: null,
})
const status = (to: string) => ({ kind: 'StatusChangedEvent', status: to, reason: null })
const moved = (members: object = {}) => ({
  kind: 'LeafMovedEvent',
  to: null,
  open_actions: [],
  last_user_message_id: null,
  owes_step: true,
  ...members,
})
const used = (seen_seq: number) => ({ kind: 'UsageRecordedEvent', totals: {}, seen_seq })
const changed = (key: string, value: unknown) => ({ kind: 'StateChangedEvent', key, value })

const batch = [call('a1'), call('a2'), asks('b1', ['a1', 'a2'])]

describe('the pending batch', () => {
  const waits = (events: object[]) => after(...events).awaiting_approval?.batch_id ?? null
  const other = { sub_agent: { conversation_id: 'c', llm_response_id: 'r', name: 'n', subagent: 's', actions: [] } }

  test.each<[string, object[], string | null]>([
    ['waits under the id of its request', batch, 'b1'],
    ['is closed by its approval', [...batch, decides('b1', ['a1', 'a2'])], null],
    ['is closed by its rejection', [...batch, decides('b1', ['a1', 'a2'], 'reject')], null],
    ['is not closed by the approval of another batch', [...batch, decides('b0', ['a1', 'a2'])], 'b1'],
    ['is closed by an approval of an older log, which has no batch id', [...batch, decides(undefined, ['a1'])], null],
    ['is not closed by one of another answer', [...batch, decides(undefined, ['a1'], 'accept', 'r0')], 'b1'],
    ['ends with a navigation', [...batch, moved()], null],
    ['does not outlive its actions', [...batch, result('a1'), rejected('a2')], null],
    ['does not outlive its failed actions', [...batch, failed('call-a1'), failed('call-a2')], null],
    ['waits while one of its actions is open', [...batch, result('a1')], 'b1'],
    ['waits while a message arrives', [...batch, said('hello')], 'b1'],
    ['waits during a pause', [...batch, status('paused')], 'b1'],
    [
      'of a sub-agent is withdrawn by a change of status',
      [call('a1'), asks('b1', ['a1'], other), status('running')],
      null,
    ],
    [
      'of a sub-agent waits while the status says so',
      [call('a1'), asks('b1', ['a1'], other), status('waiting_for_confirmation')],
      'b1',
    ],
  ])('a batch %s', (_name, events, expected) => expect(waits(events)).toBe(expected))
})

describe('the newest decision', () => {
  const b1 = (decision: string) => ({ batch_id: 'b1', llm_response_id: 'r1', decision })
  const accepted = [...batch, decides('b1', ['a1', 'a2'])]

  test.each<[string, object[], unknown]>([
    ['is an approval', accepted, b1('accept')],
    ['is a rejection', [...batch, decides('b1', ['a1', 'a2'], 'reject')], b1('reject')],
    ['is none for another batch', [...batch, decides('b0', ['a1'])], null],
    ['stays while results arrive', [...accepted, result('a1'), result('a2'), status('finished')], b1('accept')],
    ['ends with the next question', [...accepted, asks('b2', ['a1'])], null],
    ['ends with a message', [...accepted, said('hello')], null],
    ['ends with a navigation', [...accepted, moved()], null],
  ])('the newest decision %s', (_name, events, expected) => {
    expect(after(...events).decided_approval).toEqual(expected)
  })
})

describe('the consent to an open action', () => {
  const consents = (events: object[]) => after(...events).open_actions.map(({ consent = 'none' }) => consent)
  const accepted = [...batch, decides('b1', ['a1', 'a2'])]

  test.each<[string, object[], string[]]>([
    ['is absent at first', [call('a1')], ['none']],
    ['is given by the approval that names the action', [...batch, decides('b1', ['a1'])], ['given', 'none']],
    ['is not given by the approval of another batch', [...batch, decides('b0', ['a1', 'a2'])], ['none', 'none']],
    ['is not given by a rejection', [...batch, decides('b1', ['a1'], 'reject')], ['none', 'none']],
    ['is needed after a message', [...accepted, said('stop that')], ['needed', 'needed']],
    ['is needed for an action that no one was asked about', [call('a1'), said('stop that')], ['needed']],
    ['is given again', [...accepted, said('stop'), asks('b2', ['a1']), decides('b2', ['a1'])], ['given', 'needed']],
    [
      'does not change with a message that a hook has blocked',
      [...accepted, changed('blocked_messages', { m: 'no' }), said('stop', { id: 'm' })],
      ['given', 'given'],
    ],
  ])('the consent %s', (_name, events, expected) => expect(consents(events)).toEqual(expected))

  test('an approval binds an action to the origin of its tool', () => {
    const asked = asks('b1', [], { actions: [{ action_id: 'a1', risk: 'LOW', origin: 'server of the tool' }] })
    expect(after(call('a1'), asked, decides('b1', ['a1'])).open_actions).toMatchObject([
      { id: 'a1', risk: 'LOW', consent: 'given', origin: 'server of the tool' },
    ])
  })
})

describe('open actions', () => {
  const open = (events: object[]) => after(...events).open_actions.map(({ id }) => id as string)
  const twice = [call('a1', 'r1', { tool_call_id: 'same' }), call('a2', 'r2', { tool_call_id: 'same' })]

  test.each<[string, object[], string[]]>([
    ['are those without a result, oldest first', [call('a1'), call('a2'), call('a3'), result('a2')], ['a1', 'a3']],
    ['do not include a call that could not be read', [call('a1', 'r1', { action: null })], []],
    ['an error closes the oldest one with its call id', [...twice, failed('same')], ['a2']],
    ['a result closes the one that it names', [...twice, result('a2')], ['a1']],
    ['a result of an unknown call closes none', [call('a1'), result('unknown'), failed('unknown')], ['a1']],
    ['are those of the target after a navigation', [call('a1'), moved({ open_actions: [] })], []],
  ])('open actions: %s', (_name, events, expected) => expect(open(events)).toEqual(expected))
})

describe('iterations', () => {
  const iterations = (...events: object[]) => after(...events).iterations
  const runs = status('running')

  test.each<[string, object[], number]>([
    ['one answer with two calls counts once', [runs, call('a1'), call('a2')], 1],
    ['an answer and its text count once', [runs, call('a1', 'r1'), answered('done', 'r1')], 1],
    ['every answer counts', [runs, call('a1', 'r1'), call('a2', 'r2'), answered('done', 'r3')], 3],
    ['a message of the service counts nothing', [runs, answered('note', null)], 0],
    ['a new run starts at zero', [runs, call('a1'), status('paused'), runs], 0],
    ['a repeated status does not start at zero', [runs, call('a1'), runs], 1],
    ['a pause does not reset the count', [runs, call('a1'), status('paused')], 1],
    ['a new round of a goal starts at zero', [runs, call('a1'), changed('goal', { iteration: 1 })], 0],
    [
      'the same round of a goal does not start at zero',
      [runs, changed('goal', { iteration: 1 }), call('a1'), changed('goal', { iteration: 1, status: 'x' })],
      1,
    ],
  ])('%s', (_name, events, expected) => expect(iterations(...events)).toBe(expected))
})

describe('the step that the agent owes', () => {
  const owes = (...events: object[]) => after(...events).owes_step

  test.each<[string, object[], boolean]>([
    ['a message is owed a step', [said('hello')], true],
    ['a text answers it', [said('hello'), used(1), answered('hi', 'r1')], false],
    ['an empty text does not', [said('hello'), used(1), answered(' ', 'r1')], true],
    [
      'a message that arrives during the answer is owed a step of its own',
      [said('hello'), said('and this'), used(1), answered('hi', 'r1')],
      true,
    ],
    [
      'a message that arrives before a finish is owed a step of its own',
      [said('hello'), used(1), call('a1'), said('wait'), result('a1', 'FinishObservation')],
      true,
    ],
    ['a finish ends the work', [said('hello'), used(1), call('a1'), result('a1', 'FinishObservation')], false],
    ['a result is owed a step', [said('hello'), used(1), call('a1'), result('a1')], true],
    ['a rejection is owed a step', [said('hello'), used(1), call('a1'), rejected('a1')], true],
    [
      'a message that a hook has blocked is owed none',
      [said('hi'), used(1), answered('hi', 'r1'), changed('blocked_messages', { m: 'no' }), said('x', { id: 'm' })],
      false,
    ],
    [
      'a message before a navigation is not owed a step of its own after it',
      [said('hello'), moved({ owes_step: true }), answered('hi', 'r1')],
      false,
    ],
    ['a navigation says itself what is owed', [said('hello'), moved({ owes_step: false })], false],
  ])('%s', (_name, events, expected) => expect(owes(...events)).toBe(expected))
})

test('the first tree event makes a tree, and a change of status does not', () => {
  expect(after(status('running')).has_tree).toBe(false)
  expect(after(said('hello')).has_tree).toBe(true)
})

test('a navigation takes the newest message of its target and ends a recording', () => {
  const recording = changed('replay', { source: 'x' })
  const state = after(said('hello'), recording, moved({ last_user_message_id: 'm0' }))
  expect(state).toMatchObject({ last_user_message_id: 'm0', replay: null })
  expect(after(said('hello'), recording).replay).not.toBeNull()
})

test('a change of the record is no part of the state', () => {
  expect(after(changed('tags', { a: 'b' }))).not.toHaveProperty('tags')
})

test('condensations are counted until the next answer', () => {
  const condensed = { kind: 'Condensation', forgotten_event_ids: [], summary: 's', summary_offset: 0 }
  expect(after(condensed, condensed).condensations).toBe(2)
  expect(after(condensed, answered('hi', 'r1')).condensations).toBe(0)
})
