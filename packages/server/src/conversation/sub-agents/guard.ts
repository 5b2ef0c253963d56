/** What a sub-agent may do: never more than the one that it works for. Pure. Source: agent-core.md 12.1 (b), (c); F09. */
import { ConfirmationPolicy, HookConfig, ParleyError } from '@parley/protocol'
import { mergeHooks } from '../../hooks/index.ts'

const THRESHOLDS = ['LOW', 'MEDIUM', 'HIGH'] as const
const STRICTNESS = { NeverConfirm: 0, ConfirmRisky: 1, AlwaysConfirm: 2 } satisfies Record<
  ConfirmationPolicy['kind'],
  number
>

/** A policy that asks whenever one of the two would. */
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
 * The policy of a definition's `permission_mode` below a parent's policy.
 * @throws ParleyError `invalid_input` for a mode that does not exist.
 */
export function policyBelow(parent: ConfirmationPolicy, mode: string | null): ConfirmationPolicy {
  if (mode === null) return parent
  const kind = Object.hasOwn(MODES, mode) ? MODES[mode] : undefined
  if (kind === undefined) {
    const known = Object.keys(MODES).join(', ')
    throw new ParleyError('invalid_input', `permission_mode '${mode}' does not exist. There are: ${known}.`)
  }
  return tighten(parent, ConfirmationPolicy.parse({ kind }))
}

/** The parent's hooks that look at what is said and done, then the definition's own; a session's begin and end are the parent's. */
export function hooksBelow(parent: HookConfig | null, own: HookConfig | null): HookConfig | null {
  if (parent === null) return own
  const { pre_tool_use, post_tool_use, user_prompt_submit } = parent
  return mergeHooks(HookConfig.parse({ pre_tool_use, post_tool_use, user_prompt_submit }), own)
}
