/** The table of limits: what holds at run time, beside the fields that configure it. */
import { rows } from './requirement.ts'

export const limits = rows('Limits', [
  ['seed.limits.max_iterations', 'one agent run ends at `max_iterations`, which is above 0 and 500 unless given'],
  [
    'seed.limits.tool_concurrency_limit',
    'one agent step performs at most `tool_concurrency_limit` calls at once, at least 1 and 1 unless given',
  ],
  [
    'seed.limits.acp_prompt_timeout',
    'one ACP prompt call may be silent for 1800 seconds unless given otherwise; any update starts the count again',
  ],
  ['seed.limits.acp_startup_timeout', 'an ACP server has 90 seconds to start unless given otherwise'],
  ['seed.limits.read_timeout', 'read operations of a RemoteWorkspace have 600 seconds unless given otherwise'],
  [
    'seed.limits.max_connections',
    'HTTP connections of a RemoteWorkspace are unlimited while `max_connections` is null',
  ],
  ['seed.limits.tags', 'conversation tags have lowercase alphanumeric keys and values of up to 256 characters'],
  ['seed.limits.vendor.history_limit', 'the vendor analyzer looks at 20 recent events unless given otherwise'],
  [
    'seed.limits.vendor.max_message_chars',
    'the vendor analyzer sends up to 30000 characters of a message unless given otherwise',
  ],
  ['seed.limits.vendor.timeout', 'the vendor analyzer waits 30 seconds unless given otherwise'],
  ['seed.limits.vendor.thresholds', 'the vendor analyzer takes 0.3 and 0.7 as its thresholds unless given otherwise'],
  ['seed.limits.guardrail.history_window', 'the guardrail analyzer looks at 20 earlier actions unless given otherwise'],
  ['seed.limits.ensemble.analyzers', 'an ensemble has at least one analyzer'],
  ['seed.limits.patterns', 'an entry of a pattern list has exactly 3 strings'],
  ['seed.limits.metrics', 'cost, token counts, `context_window` and `per_turn_token` are never below 0'],
  ['seed.limits.profile-revision', '`revision` of a profile snapshot is never below 0'],
])
