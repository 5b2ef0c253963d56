/** Security analyzers. */
import { rows } from './requirement.ts'

export const analyzers = rows('Security analyzers', [
  ['seed.analyzer.kind', '`kind` selects the security analyzer'],
  [
    'seed.analyzer.assigns',
    'an analyzer assigns a risk to an action; only the policy decides whether a person is asked',
  ],
])

export const patternAnalyzer = rows('PatternSecurityAnalyzer', [
  ['seed.analyzer.pattern.high_patterns', '`high_patterns` is an array of arrays of exactly 3 strings'],
  ['seed.analyzer.pattern.medium_patterns', '`medium_patterns` is an array of arrays of exactly 3 strings'],
  [
    'seed.analyzer.pattern.injection_high_patterns',
    '`injection_high_patterns` is an array of arrays of exactly 3 strings',
  ],
  [
    'seed.analyzer.pattern.injection_medium_patterns',
    '`injection_medium_patterns` is an array of arrays of exactly 3 strings',
  ],
  ['seed.analyzer.pattern.executable-only', 'high and medium patterns are matched against executable fields only'],
  ['seed.analyzer.pattern.injection-all', 'injection patterns are matched against all fields'],
  ['seed.analyzer.pattern.returns', 'the pattern analyzer returns HIGH, MEDIUM or LOW'],
  ['seed.analyzer.pattern.deterministic', 'the pattern analyzer is deterministic, local and uses no network'],
  ['seed.analyzer.pattern.normalize-invisible', 'invisible characters are removed before patterns are matched'],
  [
    'seed.analyzer.pattern.normalize-fullwidth',
    'full-width substitutes become plain characters before patterns are matched',
  ],
])

export const policyRailAnalyzer = rows('PolicyRailSecurityAnalyzer', [
  ['seed.analyzer.policy-rail.no-fields', 'the policy rail analyzer has no fields'],
  ['seed.analyzer.policy-rail.segments', 'rails are evaluated on normalized executable segments only'],
  ['seed.analyzer.policy-rail.returns', 'the result is HIGH when a rail is triggered, otherwise LOW'],
  ['seed.analyzer.policy-rail.fetch-to-exec', 'a download that is executed at once triggers a rail'],
  ['seed.analyzer.policy-rail.raw-disk-op', 'an operation on a raw disk triggers a rail'],
  ['seed.analyzer.policy-rail.catastrophic-delete', 'a catastrophic deletion triggers a rail'],
])

export const ensembleAnalyzer = rows('EnsembleSecurityAnalyzer', [
  ['seed.analyzer.ensemble.analyzers.required', '`analyzers` is required'],
  ['seed.analyzer.ensemble.analyzers.minimum', '`analyzers` without an entry is refused'],
  ['seed.analyzer.ensemble.analyzers.type', '`analyzers` is an array of security analyzers'],
  ['seed.analyzer.ensemble.propagate_unknown.type', '`propagate_unknown` is a boolean'],
  ['seed.analyzer.ensemble.propagate_unknown.default', '`propagate_unknown` is false when omitted'],
  ['seed.analyzer.ensemble.highest', 'an ensemble returns the highest concrete risk of its children'],
  [
    'seed.analyzer.ensemble.all-unknown',
    'without propagation the result is UNKNOWN only when every child returns UNKNOWN',
  ],
  ['seed.analyzer.ensemble.filtered', 'without propagation UNKNOWN results of some children are ignored'],
  ['seed.analyzer.ensemble.propagated', 'with propagation one UNKNOWN child makes the result UNKNOWN'],
  ['seed.analyzer.ensemble.exception', 'a child that throws contributes HIGH'],
])

export const vendorAnalyzer = rows('VendorAnalyzer', [
  ['seed.analyzer.vendor.history_limit', '`history_limit` is an integer, 20 when omitted'],
  ['seed.analyzer.vendor.history_limit.meaning', '`history_limit` is the number of recent events sent as context'],
  ['seed.analyzer.vendor.max_message_chars', '`max_message_chars` is an integer, 30000 when omitted'],
  ['seed.analyzer.vendor.timeout', '`timeout` is a number of seconds, 30 when omitted'],
  ['seed.analyzer.vendor.low_threshold', '`low_threshold` is a number, 0.3 when omitted'],
  ['seed.analyzer.vendor.low_threshold.maps', 'a score up to `low_threshold`, itself included, gives LOW'],
  ['seed.analyzer.vendor.medium_threshold', '`medium_threshold` is a number, 0.7 when omitted'],
  ['seed.analyzer.vendor.medium_threshold.maps', 'a score up to `medium_threshold`, itself included, gives MEDIUM'],
  ['seed.analyzer.vendor.high', 'a score above both thresholds gives HIGH'],
  ['seed.analyzer.vendor.api_url', "`api_url` is a string, the vendor's monitoring address when omitted"],
  ['seed.analyzer.vendor.api_key.type', '`api_key` is a string or null, described as a password'],
  ['seed.analyzer.vendor.api_key.write-only', '`api_key` is write-only'],
  ['seed.analyzer.vendor.api_key.environment', '`api_key` may come from an environment variable'],
  ['seed.analyzer.vendor.policy_id.type', '`policy_id` is a string or null'],
  ['seed.analyzer.vendor.policy_id.environment', '`policy_id` may come from an environment variable'],
  ['seed.analyzer.vendor.sends', 'history and pending actions are sent to the external monitoring service'],
  ['seed.analyzer.vendor.score', 'the returned violation score is mapped to a risk'],
])

export const llmAnalyzers = rows('LLM analyzers', [
  ['seed.analyzer.llm.no-fields', 'LLMSecurityAnalyzer has no fields'],
  [
    'seed.analyzer.llm.attribute',
    'LLMSecurityAnalyzer returns the `security_risk` that the model gave with the action',
  ],
  ['seed.analyzer.guardrail.llm', '`llm` of the guardrail analyzer is required and names a separate model'],
  ['seed.analyzer.guardrail.history_window', '`history_window` is an integer, 20 when omitted'],
  [
    'seed.analyzer.guardrail.history_window.meaning',
    '`history_window` is the number of earlier actions sent as context',
  ],
  ['seed.analyzer.guardrail.safety_experiences', '`safety_experiences` is a string, empty when omitted'],
  [
    'seed.analyzer.guardrail.safety_experiences.used',
    'an empty `safety_experiences` means no experiences; any other text is used as given',
  ],
  ['seed.analyzer.guardrail.infrastructure', 'the guardrail returns UNKNOWN when its infrastructure fails'],
  ['seed.analyzer.guardrail.unparseable', 'the guardrail returns UNKNOWN when its output cannot be parsed'],
  [
    'seed.analyzer.guardrail.no-reasoning',
    "reasoning content and thinking blocks are excluded from the guardrail's context",
  ],
  ['seed.analyzer.guardrail.one-conversation', 'a guardrail instance serves a single conversation'],
])
