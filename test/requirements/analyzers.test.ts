import { SecurityAnalyzer } from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectDefaults, expectRefused, expectRequired, expectTypes } from './fields.ts'

const pattern = { kind: 'PatternSecurityAnalyzer' }
const ensemble = { kind: 'EnsembleSecurityAnalyzer', analyzers: [{ kind: 'LLMSecurityAnalyzer' }] }
const guardrail = { kind: 'GuardrailLLMSecurityAnalyzer', llm: { model: 'm' } }
/** The name in the interface document and the one that clients send. */
const vendors = [{ kind: 'VendorAnalyzer' }, { kind: 'GraySwanAnalyzer' }]

verifies(
  [
    'seed.analyzer.kind',
    'seed.analyzer.policy-rail.no-fields',
    'seed.analyzer.llm.no-fields',
    'design.analyzer.real-names',
  ],
  '`kind` selects the security analyzer and is returned unchanged',
  () => {
    const toolShield = { ...guardrail, kind: 'ToolShieldLLMSecurityAnalyzer' }
    for (const analyzer of [pattern, ensemble, guardrail, toolShield, ...vendors]) {
      expect(SecurityAnalyzer.parse(analyzer).kind).toBe(analyzer.kind)
    }
    for (const kind of ['PolicyRailSecurityAnalyzer', 'LLMSecurityAnalyzer']) {
      expect(SecurityAnalyzer.parse({ kind })).toEqual({ kind })
    }
    expectRefused(SecurityAnalyzer, {}, 'kind', 'Oracle', 5, null)
  },
)

verifies(
  [
    'seed.analyzer.pattern.high_patterns',
    'seed.analyzer.pattern.medium_patterns',
    'seed.analyzer.pattern.injection_high_patterns',
    'seed.analyzer.pattern.injection_medium_patterns',
    'seed.limits.patterns',
  ],
  'an entry of a pattern list has exactly three strings',
  () => {
    for (const list of ['high_patterns', 'medium_patterns', 'injection_high_patterns', 'injection_medium_patterns']) {
      const entries = { ...pattern, [list]: [['rm', 'name', 'text']] }
      expect(SecurityAnalyzer.parse(entries)).toEqual(entries)
      expectRefused(
        SecurityAnalyzer,
        pattern,
        list,
        [['rm', 'name']],
        [['a', 'b', 'c', 'd']],
        [['a', 'b', 5]],
        ['abc'],
        'a',
      )
    }
  },
)

verifies(
  [
    'seed.analyzer.ensemble.analyzers.required',
    'seed.analyzer.ensemble.analyzers.minimum',
    'seed.analyzer.ensemble.analyzers.type',
    'seed.analyzer.ensemble.propagate_unknown.type',
    'seed.analyzer.ensemble.propagate_unknown.default',
    'seed.limits.ensemble.analyzers',
  ],
  'an ensemble has at least one analyzer, which may be an ensemble',
  () => {
    expectRequired(SecurityAnalyzer, ensemble, 'analyzers')
    expectRefused(SecurityAnalyzer, ensemble, 'analyzers', [], null, pattern, [5], [{ kind: 'Oracle' }])
    expect(SecurityAnalyzer.parse({ ...ensemble, analyzers: [ensemble, pattern] })).toMatchObject({
      analyzers: [ensemble, pattern],
    })
    expectTypes(SecurityAnalyzer, ensemble, { propagate_unknown: 'boolean' })
    expectDefaults(SecurityAnalyzer, ensemble, { propagate_unknown: false })
  },
)

describe.each(vendors)('$kind', (vendor) => {
  verifies(
    [
      'seed.analyzer.vendor.history_limit',
      'seed.analyzer.vendor.max_message_chars',
      'seed.analyzer.vendor.timeout',
      'seed.analyzer.vendor.low_threshold',
      'seed.analyzer.vendor.medium_threshold',
      'seed.analyzer.vendor.api_url',
    ],
    `${vendor.kind} has limits and thresholds with defaults`,
    () => {
      expectDefaults(SecurityAnalyzer, vendor, {
        history_limit: 20,
        max_message_chars: 30_000,
        timeout: 30,
        low_threshold: 0.3,
        medium_threshold: 0.7,
        api_url: expect.stringMatching(/^https:\/\//),
      })
      expectTypes(SecurityAnalyzer, vendor, {
        history_limit: 'integer',
        max_message_chars: 'integer',
        timeout: 'number',
      })
      expect(SecurityAnalyzer.parse({ ...vendor, low_threshold: 0.1, medium_threshold: 0.2 })).toMatchObject({
        low_threshold: 0.1,
        medium_threshold: 0.2,
      })
      expectRefused(SecurityAnalyzer, vendor, 'low_threshold', 'low', null)
      expectRefused(SecurityAnalyzer, vendor, 'medium_threshold', 'medium', null)
      expectRefused(SecurityAnalyzer, vendor, 'api_url', 5, null)
    },
  )
  verifies('seed.analyzer.vendor.policy_id.type', `${vendor.kind} may name a policy`, () =>
    expectTypes(SecurityAnalyzer, vendor, { policy_id: 'string or null' }),
  )
})

verifies(
  [
    'seed.analyzer.guardrail.llm',
    'seed.analyzer.guardrail.history_window',
    'seed.analyzer.guardrail.safety_experiences',
  ],
  'the guardrail analyzer has a model, a window and experiences',
  () => {
    expectRequired(SecurityAnalyzer, guardrail, 'llm')
    expectDefaults(SecurityAnalyzer, guardrail, { history_window: 20, safety_experiences: '' })
    expectTypes(SecurityAnalyzer, guardrail, { history_window: 'integer', safety_experiences: 'string' })
  },
)
