/** Chooses the mode of a session. Pure. Source: agent-core.md 11.4, 11.7; F10. */
import type { ConfirmationPolicy } from '@parley/protocol'
import { AcpFailure } from '../failure.ts'
import type { Provider } from '../providers.ts'

export type SessionModes = { current: string | null; available: string[] | null }

export function modesOf(answer: Record<string, unknown>): SessionModes {
  const modes = answer['modes'] as { currentModeId?: unknown; availableModes?: unknown } | null | undefined
  if (typeof modes !== 'object' || modes === null) return { current: null, available: null }
  const { currentModeId, availableModes } = modes
  return {
    current: typeof currentModeId === 'string' ? currentModeId : null,
    available: Array.isArray(availableModes)
      ? availableModes.flatMap(({ id }: { id?: unknown }) => (typeof id === 'string' ? [id] : []))
      : null,
  }
}

export type WantedMode = {
  id: string
  /** True when a session without this mode is an error. */
  isRequired: boolean
}

/**
 * The mode to set; null: none. A policy that may require confirmation needs a mode in which the agent asks.
 * @throws AcpFailure `ACPInitError` for a mode in which the agent does not ask although the policy requires it.
 */
export function wantedMode(
  named: string | null,
  policy: ConfirmationPolicy,
  provider: Provider | null,
  { available }: SessionModes,
): WantedMode | null {
  const asks = policy.kind !== 'NeverConfirm'
  if (named !== null) {
    if (asks && provider !== null && isUnattended(named, provider)) {
      throw new AcpFailure(
        'ACPInitError',
        `acp_session_mode '${named}' lets the agent act without asking, and the confirmation policy is ${policy.kind}. ` +
          `Leave acp_session_mode out, name '${provider.askingModes[0]}', or set the policy NeverConfirm.`,
      )
    }
    return { id: named, isRequired: true }
  }
  if (provider === null) return null
  const candidates = asks ? provider.askingModes : provider.unattendedModes
  const offered = available === null ? candidates : candidates.filter((mode) => available.includes(mode))
  const [best] = offered
  if (best !== undefined) return { id: best, isRequired: asks }
  if (!asks) return null
  throw new AcpFailure(
    'ACPInitError',
    `The agent offers no mode in which it asks (${provider.askingModes.join(', ')}), and the confirmation policy is ${policy.kind}. ` +
      'Name one as acp_session_mode, or set the policy NeverConfirm.',
  )
}

const isUnattended = (mode: string, { unattendedModes, askingModes }: Provider): boolean =>
  unattendedModes.includes(mode) && !askingModes.includes(mode)
