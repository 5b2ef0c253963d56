/** The table of limits: what holds at run time, beside the fields that configure it. */
import { rows } from './requirement.ts'

export const limits = rows('Limits', [
  ['seed.limits.max_iterations', 'one agent run ends at `max_iterations`, which is above 0 and 500 by default'],
  [
    'seed.limits.tool_concurrency_limit',
    'one agent step executes at most `tool_concurrency_limit` calls in parallel; at least 1, default 1',
  ],
  [
    'seed.limits.acp_prompt_timeout',
    'one ACP prompt call may be silent for 1800 seconds by default; every update restarts the count',
  ],
  ['seed.limits.acp_startup_timeout', 'an ACP server has 90 seconds to start by default'],
  ['seed.limits.read_timeout', 'read operations of a RemoteWorkspace have 600 seconds by default'],
  [
    'seed.limits.max_connections',
    'HTTP connections of a RemoteWorkspace are unlimited while `max_connections` is null',
  ],
  ['seed.limits.tags', 'conversation tags have lowercase alphanumeric keys and values of up to 256 characters'],
  ['seed.limits.vendor.history_limit', 'the vendor analyzer uses 20 recent events by default'],
  ['seed.limits.vendor.max_message_chars', 'the vendor analyzer sends up to 30000 characters of a message by default'],
  ['seed.limits.vendor.timeout', 'the vendor analyzer waits 30 seconds by default'],
  ['seed.limits.vendor.thresholds', 'the thresholds of the vendor analyzer are 0.3 and 0.7 by default'],
  ['seed.limits.guardrail.history_window', 'the guardrail analyzer uses 20 earlier actions by default'],
  ['seed.limits.ensemble.analyzers', 'an ensemble has at least one analyzer'],
  ['seed.limits.patterns', 'an entry of a pattern list has exactly 3 strings'],
  ['seed.limits.metrics', 'cost, token counts, `context_window` and `per_turn_token` are never below 0'],
  ['seed.limits.profile-revision', '`revision` of a profile snapshot is never below 0'],
])
