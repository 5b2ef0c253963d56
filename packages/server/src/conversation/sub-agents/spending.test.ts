import { EMPTY_STATE, TokenUsage, type ConversationState, type MetricsSnapshot } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { costUsd } from '../run/next.ts'
import { stamp } from '../log/stamp.ts'
import { combined, overdrawn, spending } from './spending.ts'

const metrics = (cost: number, tokens: number): MetricsSnapshot => ({
  model_name: 'm',
  accumulated_cost: cost,
  max_budget_per_task: null,
  accumulated_token_usage: TokenUsage.parse({ model: 'm', prompt_tokens: tokens }),
})
const having = (stats: ConversationState['stats']): ConversationState => ({ ...EMPTY_STATE, stats })
const stamps = { now: () => new Date(0) }

test("the bucket equals the child's spending, however often it is reported (P48)", () => {
  const growth = fc.array(fc.tuple(fc.constantFrom('agent', 'condenser', 'task:x'), fc.nat(1000)), { maxLength: 20 })
  fc.assert(
    fc.property(growth, fc.nat(3), (steps, again) => {
      let parent = having({ agent: metrics(1, 10) })
      let child = having({})
      for (const [usage, cents] of steps) {
        const before = child.stats[usage]
        const sum = metrics(
          (before?.accumulated_cost ?? 0) + cents / 100,
          (before?.accumulated_token_usage?.prompt_tokens ?? 0) + cents,
        )
        child = having({ ...child.stats, [usage]: sum })
        for (let n = 0; n <= again; n++) parent = stamp(parent, spending(parent, 'task:a', child), stamps).state
        expect(parent.stats['task:a']?.accumulated_cost).toBe(costUsd(child))
        expect(parent.stats['task:a']?.accumulated_token_usage?.prompt_tokens).toBe(
          combined(child.stats).accumulated_token_usage?.prompt_tokens,
        )
        expect(parent.stats['agent']?.accumulated_cost).toBe(1)
      }
    }),
  )
})

test('unchanged spending is not reported again', () => {
  const child = having({ agent: metrics(0.5, 5) })
  const parent = stamp(having({}), spending(having({}), 'task:a', child), stamps).state
  expect(spending(parent, 'task:a', child)).toEqual([])
  expect(spending(parent, 'task:b', having({}))).toEqual([])
})

test('a budget counts all usage in the stats', () => {
  const state = having({ agent: metrics(0.5, 1), 'task:a': metrics(0.5, 1) })
  expect(overdrawn({ max_budget_per_task: 1 }, state)).toMatchObject({ code: 'MaxBudgetReached' })
  expect(overdrawn({ max_budget_per_task: 1.01 }, state)).toBe(null)
  expect(overdrawn({ max_budget_per_task: null }, state)).toBe(null)
})
