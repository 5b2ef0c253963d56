import { ConversationStats, Metrics, MetricsSnapshot, TokenUsage } from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectDefaults, expectRefused, expectTypes } from './fields.ts'

const counts = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'context_window',
  'per_turn_token',
] as const

describe.each([
  ['Metrics', Metrics],
  ['MetricsSnapshot', MetricsSnapshot],
] as const)('%s', (name, schema) => {
  verifies(
    [
      'seed.metrics.model_name.type',
      'seed.metrics.model_name.default',
      'seed.metrics.accumulated_cost.type',
      'seed.metrics.accumulated_cost.default',
      'seed.metrics.accumulated_cost.minimum',
      'seed.metrics.max_budget_per_task.type',
      'seed.metrics.accumulated_token_usage.type',
    ],
    `${name} has a model name, cost, budget and tokens`,
    () => {
      expectTypes(
        schema,
        {},
        { model_name: 'string', accumulated_cost: 'number', max_budget_per_task: 'number or null' },
      )
      expectDefaults(schema, {}, { model_name: 'default', accumulated_cost: 0, max_budget_per_task: null })
      expectRefused(schema, {}, 'accumulated_cost', -0.01)
      expect(
        schema.parse({ accumulated_token_usage: { prompt_tokens: 3 } }).accumulated_token_usage?.prompt_tokens,
      ).toBe(3)
      expect(schema.parse({ accumulated_token_usage: null }).accumulated_token_usage).toBeNull()
      expectRefused(schema, {}, 'accumulated_token_usage', 'many', 5)
    },
  )
})

verifies(
  ['seed.metrics.costs', 'seed.metrics.response_latencies', 'seed.metrics.token_usages', 'seed.metrics.snapshot'],
  'Metrics has three lists that MetricsSnapshot does not have',
  () => {
    const lists = {
      costs: [{ model: 'm', cost: 0.5 }],
      response_latencies: [{ model: 'm', latency: 1.5, response_id: 'r' }],
      token_usages: [{ model: 'm', prompt_tokens: 3 }],
    }
    expect(Metrics.parse(lists)).toMatchObject(lists)
    for (const name of Object.keys(lists)) {
      expectRefused(Metrics, {}, name, 'text', {}, [5])
      expect(MetricsSnapshot.parse(lists)).not.toHaveProperty(name)
    }
  },
)

verifies('seed.metrics.stats.usage_to_metrics', 'stats map usage ids to metrics', () => {
  const usage_to_metrics = { agent: { accumulated_cost: 1 }, condenser: { model_name: 'm' } }
  expect(ConversationStats.parse({ usage_to_metrics })).toMatchObject({ usage_to_metrics })
  expectRefused(ConversationStats, {}, 'usage_to_metrics', 'text', { agent: 5 })
})

verifies(
  [
    'seed.token-usage.model.type',
    'seed.token-usage.model.default',
    'seed.token-usage.prompt_tokens.type',
    'seed.token-usage.prompt_tokens.default',
    'seed.token-usage.completion_tokens.type',
    'seed.token-usage.completion_tokens.default',
    'seed.token-usage.cache_read_tokens.type',
    'seed.token-usage.cache_read_tokens.default',
    'seed.token-usage.cache_write_tokens.type',
    'seed.token-usage.cache_write_tokens.default',
    'seed.token-usage.reasoning_tokens.type',
    'seed.token-usage.reasoning_tokens.default',
    'seed.token-usage.context_window.type',
    'seed.token-usage.context_window.default',
    'seed.token-usage.per_turn_token.type',
    'seed.token-usage.per_turn_token.default',
    'seed.token-usage.response_id.type',
    'seed.token-usage.response_id.default',
    'seed.limits.metrics',
  ],
  'the counts of a TokenUsage are at least 0, model and response_id are strings',
  () => {
    for (const name of counts) {
      expectTypes(TokenUsage, {}, { [name]: 'integer' })
      expectDefaults(TokenUsage, {}, { [name]: 0 })
      expectRefused(TokenUsage, {}, name, -1)
    }
    expectTypes(TokenUsage, {}, { model: 'string', response_id: 'string' })
    expectDefaults(TokenUsage, {}, { model: '', response_id: '' })
    expectRefused(Metrics, {}, 'accumulated_cost', -1)
  },
)
