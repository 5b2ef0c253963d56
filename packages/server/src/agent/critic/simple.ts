/** The critics that ask no other server. Source: agent-core.md 3.3. */
import type { CriticResult } from '@parley/protocol'
import type { Critic } from './critic.ts'

const result = (score: 0 | 1, message: string): CriticResult => ({ score, message, metadata: null })

/** Gives every subject the score 1. */
export const passCritic: Critic = { evaluate: () => Promise.resolve(result(1, 'Every result passes.')) }

/** Gives the score 1 when the repository has changes. */
export const emptyPatchCritic: Critic = {
  async evaluate({ hasChanges }) {
    const changed = await hasChanges()
    if (changed === null) return null
    return changed ? result(1, 'The repository has changes.') : result(0, 'The repository has no changes.')
  },
}

/**
 * Gives the score 1 when the agent called finish and the repository has changes. Without a repository the call alone counts.
 */
export const agentFinishedCritic: Critic = {
  async evaluate({ subject, hasChanges }) {
    const changed = await hasChanges()
    if (changed === false) return result(0, 'The repository has no changes.')
    if (subject.kind !== 'action' || subject.action.kind !== 'FinishAction')
      return result(0, 'The agent has not called finish.')
    const about = changed === null ? 'There is no repository to look for changes in.' : 'The repository has changes.'
    return result(1, `The agent called finish. ${about}`)
  },
}
