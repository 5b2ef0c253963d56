/** Which mode a session is to be in. Pure. Source: agent-core.md 11.4, 11.7 (F10). */
import type { ConfirmationPolicy } from '@parley/protocol'
import { AcpFailure } from './failure.ts'
import type { Provider } from './providers.ts'

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
  /** Whether the conversation cannot go on without it. */
  isNeeded: boolean
}

/**
 * The mode to set; null: none. A policy that may ask somebody needs an agent that asks.
 * @throws AcpFailure `ACPInitError` for a mode in which nobody would be asked although the policy wants it.
 */
export function wantedMode(
  named: string | null,
  policy: ConfirmationPolicy,
  provider: Provider | null,
  { available }: SessionModes,
): WantedMode | null {
  const asks = policy.kind !== 'NeverConfirm'
  if (named !== null) {
    if (asks && provider !== null && isFree(named, provider)) {
      throw new AcpFailure(
        'ACPInitError',
        `acp_session_mode '${named}' lets the agent act without asking, and the confirmation policy is ${policy.kind}. ` +
          `Leave acp_session_mode out, name '${provider.askingModes[0]}', or set the policy NeverConfirm.`,
      )
    }
    return { id: named, isNeeded: true }
  }
  if (provider === null) return null
  const candidates = asks ? provider.askingModes : provider.freeModes
  const offered = available === null ? candidates : candidates.filter((mode) => available.includes(mode))
  const [best] = offered
  if (best !== undefined) return { id: best, isNeeded: asks }
  if (!asks) return null
  throw new AcpFailure(
    'ACPInitError',
    `The agent offers no mode in which it asks (${provider.askingModes.join(', ')}), and the confirmation policy is ${policy.kind}. ` +
      'Name one as acp_session_mode, or set the policy NeverConfirm.',
  )
}

const isFree = (mode: string, { freeModes, askingModes }: Provider): boolean =>
  freeModes.includes(mode) && !askingModes.includes(mode)
