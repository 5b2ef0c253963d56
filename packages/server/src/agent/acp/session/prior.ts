/** Chooses the earlier session to resume. Pure. Source: agent-core.md 11.3. */
import { createHash } from 'node:crypto'
import type { AcpState } from '../state.ts'

/** `isStored`: the stored facts describe this session. */
export type PriorSession = { id: string; isStored: boolean }

/** A hash of a session id, for logs and the store: the id itself grants access to the session. */
export const fingerprint = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 8)

/**
 * Returns the session to resume; null for a new one. The session that the agent's record names has precedence over the
 * stored one, unless the agent has refused it. A stored session counts only in the conversation and directory it was made for.
 */
export function priorSession(
  named: string | null,
  stored: AcpState,
  { conversationId, cwd, unseal }: { conversationId: string; cwd: string; unseal: (sealed: string) => string },
): PriorSession | null {
  const isOurs = stored.acp_conversation_id === conversationId
  // The source of a fork keeps its session, whether named or stored.
  if (!isOurs && stored.acp_conversation_id !== null) return null
  const sealed = isOurs ? stored.acp_session_id : null
  const own = sealed === null ? null : unseal(sealed)
  const isHere = stored.acp_session_cwd === cwd
  const isRefused = isOurs && named !== null && stored.acp_refused_session === fingerprint(named)
  if (named !== null && named !== '' && !isRefused) {
    if (named !== own) return { id: named, isStored: false }
    return isHere ? { id: named, isStored: true } : null
  }
  return own !== null && isHere ? { id: own, isStored: true } : null
}
