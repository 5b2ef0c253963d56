import {
  asEventId,
  EMPTY_STATE,
  HookConfig,
  ParleyError,
  type ConversationExecutionStatus,
  type ConversationState,
} from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { Approvals } from './approvals.ts'
import type { EarlierOutcome } from './branch/earlier-outcomes.ts'
import type { NavigationTarget } from './branch/navigation-target.ts'
import { decide, opensBranch } from './commands.ts'

const a1 = { id: asEventId('a1'), tool_call_id: 'c1', tool_name: 'terminal', llm_response_id: 'r1', seq: 4 }
const a2 = { ...a1, id: asEventId('a2'), tool_call_id: 'c2', seq: 5 }
const waiting: Partial<ConversationState> = {
  execution_status: 'waiting_for_confirmation',
  open_actions: [a1, a2],
  awaiting_approval: {
    batch_id: 'b1',
    llm_response_id: 'r1',
    actions: [a1, a2].map(({ id }) => ({ action_id: id, risk: 'HIGH' as const })),
  },
}
const digested = [a1, a2].map(({ id }) => ({ action_id: id, digest: `digest of ${id}` }))
const seen: Approvals = { actor: 'key-1', isShown: true, actions: digested }
const unseen: Approvals = { ...seen, isShown: false }
const accepted = { batch_id: 'b1', llm_response_id: 'r1', decision: 'accept' as const }
const state = (change: Partial<ConversationState>): ConversationState => ({
  ...EMPTY_STATE,
  has_system_prompt: true,
  ...change,
})
const say = (run: boolean): Parameters<typeof decide>[1] => ({ kind: 'send_message', content: [], run })
const kinds = (change: Partial<ConversationState>, command: Parameters<typeof decide>[1]) => {
  const { drafts, runs } = decide(state(change), command, seen, [])
  return [drafts.map((draft) => (draft.kind === 'StatusChangedEvent' ? draft.status : draft.kind)).join(' '), runs]
}
const refusal = (
  change: Partial<ConversationState>,
  command: Parameters<typeof decide>[1],
  approvals: Approvals = seen,
): string => {
  try {
    decide(state(change), command, approvals, [])
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
  test('run of a finished conversation with Stop hooks runs them again', () => {
    const hook_config = HookConfig.parse({ stop: [{ hooks: [{ command: 'true' }] }] })
    expect(kinds({ execution_status: 'finished', hook_config }, { kind: 'run' })).toEqual(['running', true])
  })
  test('run is refused while running', () =>
    expect(refusal({ execution_status: 'running' }, { kind: 'run' })).toBe('conflict'))
  test('run approves no batch that no client of the user has received', () => {
    expect(refusal(waiting, { kind: 'run' }, unseen)).toBe('conflict')
  })
  test('run approves an unseen batch that it names', () => {
    expect(refusal(waiting, { kind: 'run', batch_id: 'b1' }, unseen)).toBe('accepted')
  })
  test('run with the id of another batch is refused', () => {
    expect(refusal(waiting, { kind: 'run', batch_id: 'r1' })).toBe('conflict')
  })
  test('run with the id of a batch is refused when none waits', () => {
    expect(refusal({ execution_status: 'idle' }, { kind: 'run', batch_id: 'b1' })).toBe('conflict')
  })
  test('run that names the batch that was approved succeeds again without effect', () => {
    const approved = { execution_status: 'running' as const, decided_approval: accepted }
    expect(kinds(approved, { kind: 'run', batch_id: 'b1' })).toEqual(['', false])
  })
  test('run of the server itself approves nothing', () => {
    expect(refusal(waiting, { kind: 'run', batch_id: null })).toBe('conflict')
  })
  test('run approves the pending batch with an approval event', () => {
    const { drafts } = decide(state(waiting), { kind: 'run' }, seen, [])
    expect(drafts[0]).toMatchObject({
      kind: 'ApprovalEvent',
      decision: 'accept',
      actor: 'key-1',
      batch_id: 'b1',
      action_ids: ['a1', 'a2'],
      actions: digested,
    })
  })
  test('an approval names the actions that wait for it and no other open call', () => {
    const other = { ...a1, id: asEventId('a3'), tool_call_id: 'c3', seq: 6 }
    const { drafts } = decide(state({ ...waiting, open_actions: [a1, other, a2] }), { kind: 'run' }, seen, [])
    expect(drafts[0]).toMatchObject({ kind: 'ApprovalEvent', action_ids: ['a1', 'a2'] })
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
  test('an acceptance that names no batch is refused when no client has received the batch', () => {
    expect(refusal(waiting, answer(true), unseen)).toBe('conflict')
    expect(refusal(waiting, answer(true, 'r1'), unseen)).toBe('conflict')
    expect(refusal(waiting, { ...answer(true), batch_id: 'b1' }, unseen)).toBe('accepted')
  })
  test('a rejection counts for a batch that no client has received', () =>
    expect(refusal(waiting, answer(false), unseen)).toBe('accepted'))
  test.each([true, false])('an answer with accept %s to another batch is refused', (accept) => {
    expect(refusal(waiting, { ...answer(accept), batch_id: 'b0' })).toBe('conflict')
  })
  test.each([
    [['a1'], 'conflict'],
    [['a1', 'a3'], 'conflict'],
    [['a1', 'a2', 'a3'], 'conflict'],
    [['a2', 'a1'], 'accepted'],
  ])('an answer to the actions %s of the batch a1, a2 is answered with %s', (ids, result) => {
    const action_ids = ids.map(asEventId)
    expect(refusal(waiting, { ...answer(true), batch_id: 'b1', action_ids })).toBe(result)
  })

  const rejected = { ...accepted, decision: 'reject' as const }
  const byBatch = (accept: boolean, batch_id: string) => ({ ...answer(accept), batch_id })
  test.each<[string, ConversationState['decided_approval'], Parameters<typeof decide>[1], string]>([
    ['a rejection after the approval', accepted, answer(false), 'conflict'],
    ['a rejection of the approved batch', accepted, byBatch(false, 'b1'), 'conflict'],
    ['a rejection of the approved answer', accepted, answer(false, 'r1'), 'conflict'],
    ['an approval of the rejected batch', rejected, byBatch(true, 'b1'), 'conflict'],
    ['an approval after the rejection', rejected, answer(true), 'nothing_pending'],
    ['an approval of the approved batch', accepted, byBatch(true, 'b1'), 'accepted'],
    ['a rejection of the rejected batch', rejected, byBatch(false, 'b1'), 'accepted'],
    ['a rejection after the rejection', rejected, answer(false), 'accepted'],
    ['an answer to a batch that is not known', accepted, byBatch(true, 'b0'), 'conflict'],
    ['a rejection of a batch that is not known', null, byBatch(false, 'b0'), 'conflict'],
  ])('while nothing waits, %s is answered as it has to be', (_name, decided_approval, command, result) => {
    expect(refusal({ execution_status: 'finished', decided_approval }, command)).toBe(result)
  })
  test('a rejection without a pending batch changes nothing', () =>
    expect(kinds({ execution_status: 'idle' }, answer(false))).toEqual(['', false]))
})

describe('navigate', () => {
  const target = { to: asEventId('e1'), open_actions: [a1], last_user_message_id: null, owes_step: true }
  const to = (target: NavigationTarget, outcome: EarlierOutcome = { kind: 'unknown' }) =>
    ({ kind: 'navigate', target, outcomes: new Map([[a1.id, outcome]]) }) as const
  test.each<[EarlierOutcome, RegExp]>([
    [{ kind: 'executed' }, /was executed on another branch .* effects remain/],
    [{ kind: 'failed', error: 'no such file' }, /with this error: no such file/],
    [{ kind: 'rejected' }, /was rejected on another branch .*; it was not executed/],
    [{ kind: 'unapproved' }, /waited for an approval .*; it was not executed/],
    [{ kind: 'unknown' }, /Whether it was executed, wholly or in part, is not known/],
  ])('the model reads about an open call at the target of a navigation that it was %o', (outcome, text) => {
    const { drafts } = decide(state({}), to(target, outcome), seen, [])
    expect(drafts.at(-1)).toMatchObject({ kind: 'AgentErrorEvent', error: expect.stringMatching(text) })
  })
  test('a navigation closes the open calls at its target (F05)', () => {
    expect(kinds({}, to(target))).toEqual(['LeafMovedEvent AgentErrorEvent', false])
  })
  test('a navigation leaves a pending batch behind', () => {
    expect(kinds(waiting, to({ ...target, open_actions: [] }))[0]).toBe('LeafMovedEvent idle')
  })
  test('a navigation removes the blocks of the calls that it leaves behind', () => {
    const blocked_actions = { a2: 'no deletion', other: 'no' }
    const { drafts } = decide(state({ ...waiting, blocked_actions }), to(target), seen, [])
    expect(drafts).toContainEqual(expect.objectContaining({ key: 'blocked_actions', value: { other: 'no' } }))
  })
  test('navigate is refused while running', () =>
    expect(refusal({ execution_status: 'running' }, to(target))).toBe('conflict'))
  test.each([
    ['some', ['a'], [{ key: 'activated_knowledge_skills', value: ['a'] }]],
    ['all', ['a', 'b'], []],
  ])('a navigation to where the model has received %s of the given skills records those', (_, given, recorded) => {
    const now = state({ activated_knowledge_skills: ['a', 'b'] })
    const { drafts } = decide(now, { ...to(target), given }, seen, [])
    expect(drafts.filter(({ kind }) => kind === 'StateChangedEvent')).toMatchObject(recorded)
  })
})

test('the preamble precedes the first message of a branch and no later one', () => {
  const preamble = [{ kind: 'PauseEvent', source: 'user' }] as const
  const written = (has_system_prompt: boolean) =>
    decide(state({ has_system_prompt }), say(false), seen, preamble).drafts.map(({ kind }) => kind)
  expect(written(false)).toEqual(['PauseEvent', 'MessageEvent'])
  expect(written(true)).toEqual(['MessageEvent'])
})

test.each([
  ['send_message', true],
  ['run', true],
  ['start_goal', true],
  ['resume_goal', true],
  ['pause', false],
  ['navigate', false],
] as const)('%s begins a branch without a system prompt: %s; it never begins one that has it', (kind, begins) => {
  expect(opensBranch({ kind }, state({ has_system_prompt: false }))).toBe(begins)
  expect(opensBranch({ kind }, state({ has_system_prompt: true }))).toBe(false)
})

describe('a rejection', () => {
  const reject = { kind: 'respond', accept: false, reason: 'no', batch_id: 'b1' } as const

  test('a rejection continues the run of an active goal, and otherwise ends it', () => {
    const goal = { active: true } as ConversationState['goal']
    expect(decide(state({ ...waiting, goal }), reject, seen, []).runs).toBe(true)
    expect(decide(state(waiting), reject, seen, []).runs).toBe(false)
  })

  test('a rejection answers a call that a hook has blocked with the reason of the hook, and removes the block', () => {
    const blocked_actions = { a2: 'no deletion', other: 'no' }
    const { drafts } = decide(state({ ...waiting, blocked_actions }), reject, seen, [])
    expect(drafts.filter(({ kind }) => kind === 'UserRejectObservation')).toMatchObject([
      { action_id: 'a1', rejection_reason: 'no', rejection_source: 'user' },
      { action_id: 'a2', rejection_reason: 'no deletion', rejection_source: 'hook' },
    ])
    expect(drafts).toContainEqual(expect.objectContaining({ key: 'blocked_actions', value: { other: 'no' } }))
  })

  test('a rejection of a question of a sub-agent leaves the call that waits for it open', () => {
    const sub_agent = { actions: [{ action_id: asEventId('s1'), risk: 'HIGH' }] } as never
    const awaiting_approval = { ...waiting.awaiting_approval!, sub_agent }
    expect(kinds({ ...waiting, awaiting_approval }, reject)).toEqual(['ApprovalEvent running', true])
  })

  test('an unnamed approval after a rejection is refused, also while the conversation runs', () => {
    const change = {
      execution_status: 'running' as const,
      decided_approval: { ...accepted, decision: 'reject' as const },
    }
    expect(refusal(change, { kind: 'respond', accept: true, reason: '' })).toBe('nothing_pending')
  })
})
