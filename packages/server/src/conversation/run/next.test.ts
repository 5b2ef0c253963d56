import { asEventId, EMPTY_STATE, type ConversationState, type MetricsSnapshot } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { next, type Around, type Limits, type Next } from './next.ts'

const open = [{ id: asEventId('a1'), tool_call_id: 'c1', tool_name: 'terminal', llm_response_id: 'r1', seq: 4 }]
const waits = {
  batch_id: 'b1',
  llm_response_id: 'r1',
  actions: [{ action_id: asEventId('a1'), risk: 'HIGH' as const }],
}
const spent = (accumulated_cost: number): Record<string, MetricsSnapshot> => ({
  default: { model_name: 'm', accumulated_cost, max_budget_per_task: null, accumulated_token_usage: null },
})
const LIMITS: Limits = { maxIterations: 3, maxBudgetUsd: 1 }

const stop = (status: string, code: string | null = null) => ({ kind: 'stop', status, code })

test.each<[string, Partial<ConversationState>, unknown]>([
  ['a paused conversation stays paused', { execution_status: 'paused' }, stop('paused')],
  ['an idle one is not run', { execution_status: 'idle' }, stop('idle')],
  ['pause wins over open actions', { execution_status: 'paused', open_actions: open }, stop('paused')],
  ['an unapproved batch waits', { open_actions: open, awaiting_approval: waits }, stop('waiting_for_confirmation')],
  ['open actions are executed before anything is thought', { open_actions: open }, { kind: 'execute' }],
  [
    'open actions are executed even when iterations are used up',
    { open_actions: open, iterations: 3 },
    { kind: 'execute' },
  ],
  ['what the agent owes is thought about', { owes_step: true }, { kind: 'think' }],
  ['nothing owed means finished', { owes_step: false }, stop('finished')],
  ['finishing in the very last iteration is no error', { owes_step: false, iterations: 3 }, stop('finished')],
  ['iterations used up is an error', { iterations: 3 }, stop('error', 'MaxIterationsReached')],
  ['a limit in the state wins over the record', { iterations: 3, max_iterations: 4 }, { kind: 'think' }],
  ['a used up budget pauses', { stats: spent(1) }, stop('paused', 'MaxBudgetReached')],
  ['a run with budget left continues', { stats: spent(0.99) }, { kind: 'think' }],
])('%s', (_name, change, expected) => {
  const todo = next({ ...EMPTY_STATE, execution_status: 'running', ...change }, LIMITS)
  expect(summary(todo)).toEqual(expected)
})

const running = { ...EMPTY_STATE, execution_status: 'running' as const }
const around = (change: Partial<Around>): Around => ({ wantsCondensation: false, stuck: () => null, ...change })

test.each<[string, Partial<ConversationState>]>([
  ['running', {}],
  ['finished', { execution_status: 'finished' }],
  ['with calls to execute', { open_actions: open }],
  ['waiting for a person', { open_actions: open, awaiting_approval: waits }],
])('a condensation request comes first in any state: %s', (_name, change) => {
  expect(next({ ...running, ...change }, LIMITS, around({ wantsCondensation: true }))).toEqual({ kind: 'condense' })
})

describe('an agent that repeats itself', () => {
  const stuck = around({ stuck: () => ({ kind: 'stuck', pattern: 'monologue', detail: 'It talks.' }) })

  test('a stuck agent stops, and the reason names the pattern', () => {
    const todo = next(running, LIMITS, stuck)
    expect(todo).toMatchObject({ kind: 'stop', status: 'stuck', reason: { code: 'AgentStuck' } })
    expect(JSON.stringify(todo)).toContain('It talks. (monologue)')
  })

  test('an agent that repeats itself gets a nudge first', () => {
    const nudge = { kind: 'nudge' as const, text: 'try something else' }
    expect(next(running, LIMITS, around({ stuck: () => nudge }))).toEqual(nudge)
  })

  test.each<[string, Partial<ConversationState>]>([
    ['it has calls to execute', { open_actions: open }],
    ['it has finished', { owes_step: false }],
    ['it is paused', { execution_status: 'paused' }],
  ])('stuck detection is not used while %s', (_name, change) => {
    const look = around({
      stuck: () => {
        throw new Error('looked')
      },
    })
    expect(() => next({ ...running, ...change }, LIMITS, look)).not.toThrow()
  })
})

const goal = (active: boolean) => ({ active }) as ConversationState['goal']

test.each<[string, Partial<ConversationState>, unknown]>([
  ['work that is done is judged while a goal is active', { owes_step: false, goal: goal(true) }, { kind: 'judge' }],
  ['work that is done ends the run after a goal', { owes_step: false, goal: goal(false) }, stop('finished')],
  [
    'the budget counts the costs of every model',
    { stats: { ...spent(0.6), other: spent(0.6).default!, last: spent(0).default! } },
    stop('paused', 'MaxBudgetReached'),
  ],
  [
    'the call that waits for the question of a sub-agent stays in execution',
    {
      execution_status: 'waiting_for_confirmation',
      open_actions: open,
      awaiting_approval: { ...waits, sub_agent: {} as never },
    },
    { kind: 'execute' },
  ],
])('%s', (_name, change, expected) => {
  expect(summary(next({ ...running, ...change }, LIMITS))).toEqual(expected)
})

test('repetition while a goal is active is judged and does not stop the run', () => {
  const stuck = around({ stuck: () => ({ kind: 'stuck', pattern: 'monologue', detail: 'It talks.' }) })
  expect(next({ ...running, goal: goal(true) }, LIMITS, stuck)).toEqual({ kind: 'judge' })
})

test.each<[string, Partial<ConversationState>, Partial<Around>]>([
  ['work that is done', { owes_step: false }, {}],
  ['repetition', {}, { stuck: () => ({ kind: 'stuck', pattern: 'monologue', detail: 'It talks.' }) }],
])('the judge of a goal is not asked about %s when its answer cannot be paid for', (_name, change, more) => {
  const reason = { code: 'MonthlyCostReached', detail: 'used up' }
  const paused = { kind: 'stop', status: 'paused', reason }
  const state = { ...running, ...change, goal: goal(true) }
  expect(next(state, LIMITS, around({ ...more, usedUp: () => reason }))).toEqual(paused)
  expect(next(state, LIMITS, around({ ...more, remainingBudget: () => reason }))).toEqual(paused)
})

test('work that is done ends the run also when the month of its user is spent', () => {
  const spentMonth = around({ usedUp: () => ({ code: 'MonthlyCostReached', detail: 'used up' }) })
  expect(summary(next({ ...running, owes_step: false }, LIMITS, spentMonth))).toEqual(stop('finished'))
})

test('a run pauses when the parent chain can pay for no further answer', () => {
  const reason = { code: 'MaxBudgetReached', detail: 'used up' }
  expect(next(running, LIMITS, around({ remainingBudget: () => reason }))).toEqual({
    kind: 'stop',
    status: 'paused',
    reason,
  })
})

function summary(todo: Next): unknown {
  return todo.kind === 'stop' ? stop(todo.status, todo.reason?.code ?? null) : { kind: todo.kind }
}
