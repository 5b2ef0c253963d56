/** Which earlier session is taken up. Pure. Source: agent-core.md 11.3 (4). */
import { createHash } from 'node:crypto'
import type { AcpState } from './state.ts'

/** `isStored`: what is stored about the session holds for it. */
export type PriorSession = { id: string; isStored: boolean }

/** A session id as it may be written down. */
export const fingerprint = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 8)

/**
 * The session that the agent's record names goes before the stored one, unless the agent has said that it does not know it.
 * A stored one counts only in the conversation and the directory that it was made for.
 * @returns null when a new session is to be begun
 */
export function priorSession(
  named: string | null,
  stored: AcpState,
  { conversationId, cwd, unseal }: { conversationId: string; cwd: string; unseal: (sealed: string) => string },
): PriorSession | null {
  const isOurs = stored.acp_conversation_id === conversationId
  // A fork: its source goes on with the session, whichever way that was found.
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
