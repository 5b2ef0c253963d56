/** Metrics records, the secret registry and the hook configuration. */
import { rows } from './requirement.ts'

export const metrics = rows('Metrics records', [
  ['seed.metrics.stats.usage_to_metrics', '`usage_to_metrics` maps strings to Metrics'],
  ['seed.metrics.model_name.type', '`model_name` is a string in both records'],
  ['seed.metrics.model_name.default', '`model_name` is `default` when omitted'],
  ['seed.metrics.accumulated_cost.type', '`accumulated_cost` is a number'],
  ['seed.metrics.accumulated_cost.default', '`accumulated_cost` is 0 when omitted'],
  ['seed.metrics.accumulated_cost.minimum', '`accumulated_cost` below 0 is refused'],
  ['seed.metrics.max_budget_per_task.type', '`max_budget_per_task` is a number or null'],
  ['seed.metrics.accumulated_token_usage.type', '`accumulated_token_usage` is a TokenUsage or null'],
  ['seed.metrics.costs', 'Metrics has `costs`, an array of Cost'],
  ['seed.metrics.response_latencies', 'Metrics has `response_latencies`, an array of ResponseLatency'],
  ['seed.metrics.token_usages', 'Metrics has `token_usages`, an array of TokenUsage'],
  ['seed.metrics.snapshot', 'MetricsSnapshot leaves out the three lists of Metrics'],
])

export const tokenUsage = rows('TokenUsage', [
  ['seed.token-usage.model.type', '`model` is a string'],
  ['seed.token-usage.model.default', '`model` is empty when omitted'],
  ['seed.token-usage.prompt_tokens.type', '`prompt_tokens` is an integer of at least 0'],
  ['seed.token-usage.prompt_tokens.default', '`prompt_tokens` is 0 when omitted'],
  ['seed.token-usage.completion_tokens.type', '`completion_tokens` is an integer of at least 0'],
  ['seed.token-usage.completion_tokens.default', '`completion_tokens` is 0 when omitted'],
  ['seed.token-usage.cache_read_tokens.type', '`cache_read_tokens` is an integer of at least 0'],
  ['seed.token-usage.cache_read_tokens.default', '`cache_read_tokens` is 0 when omitted'],
  ['seed.token-usage.cache_write_tokens.type', '`cache_write_tokens` is an integer of at least 0'],
  ['seed.token-usage.cache_write_tokens.default', '`cache_write_tokens` is 0 when omitted'],
  ['seed.token-usage.reasoning_tokens.type', '`reasoning_tokens` is an integer of at least 0'],
  ['seed.token-usage.reasoning_tokens.default', '`reasoning_tokens` is 0 when omitted'],
  ['seed.token-usage.context_window.type', '`context_window` is an integer of at least 0'],
  ['seed.token-usage.context_window.default', '`context_window` is 0 when omitted'],
  ['seed.token-usage.per_turn_token.type', '`per_turn_token` is an integer of at least 0'],
  ['seed.token-usage.per_turn_token.default', '`per_turn_token` is 0 when omitted'],
  ['seed.token-usage.response_id.type', '`response_id` is a string'],
  ['seed.token-usage.response_id.default', '`response_id` is empty when omitted'],
])

export const secretRegistry = rows('SecretRegistry', [
  ['seed.secret-registry.secret_sources', '`secret_sources` maps strings to secret sources'],
  ['seed.secret-registry.source.lookup', 'LookupSecret is a kind of secret source'],
  ['seed.secret-registry.source.static', 'StaticSecret is a kind of secret source'],
  ['seed.secret-registry.injects', 'a command that mentions the key of a secret gets it as an environment variable'],
  ['seed.secret-registry.injects-only-named', 'a command that does not mention a key does not get its secret'],
  [
    'seed.secret-registry.tracks',
    'the newest exported values are kept, so that masking works when a lookup fails later',
  ],
  ['seed.secret-registry.redacted', 'secret values are redacted in serialization by default'],
  ['seed.secret-registry.encrypted', 'secret values are encrypted when the serialization carries a cipher'],
  ['seed.secret-registry.exposed', 'secret values are plain when the serialization sets `expose_secrets` to true'],
])

export const hookConfig = rows('HookConfig', [
  ['seed.hook-config.closed', 'an unknown property of a hook configuration is refused'],
  ['seed.hook-config.pre_tool_use', '`pre_tool_use` is an array of HookMatcher'],
  ['seed.hook-config.post_tool_use', '`post_tool_use` is an array of HookMatcher'],
  ['seed.hook-config.user_prompt_submit', '`user_prompt_submit` is an array of HookMatcher'],
  ['seed.hook-config.session_start', '`session_start` is an array of HookMatcher'],
  ['seed.hook-config.session_end', '`session_end` is an array of HookMatcher'],
  ['seed.hook-config.stop', '`stop` is an array of HookMatcher'],
  ['seed.hook-config.matcher.type', '`matcher` is a string'],
  ['seed.hook-config.matcher.default', '`matcher` is `*` when omitted'],
  ['seed.hook-config.matcher.exact', 'a matcher matches a name exactly'],
  ['seed.hook-config.matcher.wildcard', 'a matcher can be a wildcard'],
  ['seed.hook-config.matcher.regex-detected', 'a matcher that looks like a regular expression is used as one'],
  ['seed.hook-config.matcher.regex-slashes', 'a matcher between slashes is a regular expression'],
  ['seed.hook-config.matcher.hooks', '`hooks` of a matcher is an array of HookDefinition'],
  [
    'seed.hook-config.file',
    'a hook configuration can be loaded from a JSON file in the configuration directory of the project',
  ],
])
