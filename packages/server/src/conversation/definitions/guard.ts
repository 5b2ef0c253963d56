/** The permissions of a sub-agent: never more than its parent has. Pure. Source: agent-core.md 12.1; F09. */
import { ConfirmationPolicy, HookConfig, invalidInput } from '@parley/protocol'
import { mergeHooks } from '../../hooks/index.ts'

const THRESHOLDS = ['LOW', 'MEDIUM', 'HIGH'] as const
const STRICTNESS = { NeverConfirm: 0, ConfirmRisky: 1, AlwaysConfirm: 2 } satisfies Record<
  ConfirmationPolicy['kind'],
  number
>

/** Returns a policy that asks whenever one of the two would. */
export function tighten(one: ConfirmationPolicy, other: ConfirmationPolicy): ConfirmationPolicy {
  if (one.kind === 'ConfirmRisky' && other.kind === 'ConfirmRisky') {
    const threshold = THRESHOLDS.find((risk) => risk === one.threshold || risk === other.threshold) ?? one.threshold
    return { ...one, threshold, confirm_unknown: one.confirm_unknown || other.confirm_unknown }
  }
  return STRICTNESS[other.kind] > STRICTNESS[one.kind] ? other : one
}

const MODES: Readonly<Record<string, ConfirmationPolicy['kind']>> = {
  always_confirm: 'AlwaysConfirm',
  never_confirm: 'NeverConfirm',
  confirm_risky: 'ConfirmRisky',
}

/**
 * Returns the policy of a definition's `permission_mode` below a parent's policy.
 * @throws ParleyError `invalid_input` for an unknown mode.
 */
export function policyBelow(parent: ConfirmationPolicy, mode: string | null): ConfirmationPolicy {
  if (mode === null) return parent
  const kind = Object.hasOwn(MODES, mode) ? MODES[mode] : undefined
  if (kind === undefined) {
    const known = Object.keys(MODES).join(', ')
    throw invalidInput(`permission_mode '${mode}' does not exist. There are: ${known}.`)
  }
  return tighten(parent, ConfirmationPolicy.parse({ kind }))
}

/** Joins the parent's hooks for messages and tool calls with the definition's own. Session hooks remain with the parent. */
export function hooksBelow(parent: HookConfig | null, own: HookConfig | null): HookConfig | null {
  if (parent === null) return own
  const { pre_tool_use, post_tool_use, user_prompt_submit } = parent
  return mergeHooks(HookConfig.parse({ pre_tool_use, post_tool_use, user_prompt_submit }), own)
}
