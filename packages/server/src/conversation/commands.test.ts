import {
  asEventId,
  EMPTY_STATE,
  ParleyError,
  type ConversationExecutionStatus,
  type ConversationState,
} from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { decide } from './commands.ts'

const a1 = { id: asEventId('a1'), tool_call_id: 'c1', tool_name: 'terminal', llm_response_id: 'r1', seq: 4 }
const a2 = { ...a1, id: asEventId('a2'), tool_call_id: 'c2', seq: 5 }
const waiting: Partial<ConversationState> = {
  execution_status: 'waiting_for_confirmation',
  open_actions: [a1, a2],
  awaiting_approval: {
    llm_response_id: 'r1',
    actions: [a1, a2].map(({ id }) => ({ action_id: id, risk: 'HIGH' as const })),
  },
}
const state = (change: Partial<ConversationState>): ConversationState => ({
  ...EMPTY_STATE,
  has_system_prompt: true,
  ...change,
})
const say = (run: boolean): Parameters<typeof decide>[1] => ({ kind: 'send_message', content: [], run })
const kinds = (change: Partial<ConversationState>, command: Parameters<typeof decide>[1]) => {
  const { drafts, runs } = decide(state(change), command, 'key-1', [])
  return [drafts.map((draft) => (draft.kind === 'StatusChangedEvent' ? draft.status : draft.kind)).join(' '), runs]
}
const refusal = (change: Partial<ConversationState>, command: Parameters<typeof decide>[1]): string => {
  try {
    decide(state(change), command, 'key-1', [])
  } catch (error) {
    if (error instanceof ParleyError) return error.code
    throw error
  }
  return 'accepted'
}

describe('run', () => {
  test.each<[ConversationExecutionStatus, string, boolean]>([
    ['idle', 'running', true],
    ['paused', 'running', true],
    ['error', 'running', true],
    ['stuck', 'running', true],
    ['finished', '', false],
  ])('run from %s writes "%s"', (execution_status, written, runs) => {
    expect(kinds({ execution_status }, { kind: 'run' })).toEqual([written, runs])
  })
  test('run is refused while running', () =>
    expect(refusal({ execution_status: 'running' }, { kind: 'run' })).toBe('conflict'))
  test('run approves the pending batch with an approval event', () => {
    const { drafts } = decide(state(waiting), { kind: 'run' }, 'key-1', [])
    expect(drafts[0]).toMatchObject({
      kind: 'ApprovalEvent',
      decision: 'accept',
      actor: 'key-1',
      action_ids: ['a1', 'a2'],
    })
  })
  test('run approves nothing when the batch was proposed but the conversation is paused', () => {
    expect(kinds({ ...waiting, execution_status: 'paused' }, { kind: 'run' })).toEqual(['running', true])
  })
})

describe('a message', () => {
  test.each<[ConversationExecutionStatus, boolean, string, boolean]>([
    ['idle', false, 'MessageEvent', false],
    ['idle', true, 'MessageEvent running', true],
    ['running', true, 'MessageEvent', true],
    ['paused', false, 'MessageEvent', false],
    ['paused', true, 'MessageEvent running', true],
    ['finished', false, 'MessageEvent idle', false],
    ['finished', true, 'MessageEvent running', true],
    ['stuck', false, 'MessageEvent idle', false],
    ['error', false, 'MessageEvent', false],
    ['error', true, 'MessageEvent running', true],
  ])('a message while %s with run %s writes "%s"', (execution_status, run, written, runs) => {
    expect(kinds({ execution_status }, say(run))).toEqual([written, runs])
  })
  test.each([false, true])('a message never approves, also with run %s (F01)', (run) => {
    expect(kinds(waiting, say(run))).toEqual(['MessageEvent', false])
  })
})

describe('pause', () => {
  test.each<[ConversationExecutionStatus, string]>([
    ['idle', 'paused PauseEvent'],
    ['running', 'paused PauseEvent'],
    ['paused', ''],
    ['waiting_for_confirmation', ''],
    ['finished', ''],
    ['error', ''],
    ['stuck', ''],
  ])('a pause while %s writes "%s"', (execution_status, written) => {
    expect(kinds({ execution_status }, { kind: 'pause' })[0]).toBe(written)
  })
})

describe('a confirmation', () => {
  const answer = (accept: boolean, llm_response_id?: string) =>
    ({ kind: 'respond', accept, reason: 'why', ...(llm_response_id === undefined ? {} : { llm_response_id }) }) as const

  test('an accepted confirmation writes an approval, then running', () =>
    expect(kinds(waiting, answer(true))).toEqual(['ApprovalEvent running', true]))
  test('a rejected confirmation writes an approval, a rejection for each action, then idle', () => {
    expect(kinds(waiting, answer(false))).toEqual([
      'ApprovalEvent UserRejectObservation UserRejectObservation idle',
      false,
    ])
  })
  test('a confirmation for another batch is refused', () =>
    expect(refusal(waiting, answer(true, 'r0'))).toBe('conflict'))
  test('a confirmation without a pending batch is refused (F02)', () =>
    expect(refusal({ execution_status: 'idle' }, answer(true))).toBe('nothing_pending'))
  test('a confirmation while the approved run is active changes nothing', () => {
    expect(kinds({ execution_status: 'running' }, answer(true))).toEqual(['', false])
  })
  test('a rejection without a pending batch changes nothing', () =>
    expect(kinds({ execution_status: 'idle' }, answer(false))).toEqual(['', false]))
})

describe('navigate', () => {
  const target = { to: asEventId('e1'), open_actions: [a1], last_user_message_id: null, owes_step: true }
  test('a navigation closes the open calls at its target (F05)', () => {
    expect(kinds({}, { kind: 'navigate', target })).toEqual(['LeafMovedEvent AgentErrorEvent', false])
  })
  test('a navigation leaves a pending batch behind', () => {
    expect(kinds(waiting, { kind: 'navigate', target: { ...target, open_actions: [] } })[0]).toBe('LeafMovedEvent idle')
  })
  test('navigate is refused while running', () =>
    expect(refusal({ execution_status: 'running' }, { kind: 'navigate', target })).toBe('conflict'))
})

test('the first message of a branch is preceded by the preamble', () => {
  const preamble = [{ kind: 'PauseEvent', source: 'user' }] as const
  const { drafts } = decide(EMPTY_STATE, say(false), 'key-1', preamble)
  expect(drafts.map(({ kind }) => kind)).toEqual(['PauseEvent', 'MessageEvent'])
})
