/** The critics that ask nobody. Source: agent-core.md 3.3. */
import type { CriticResult } from '@parley/protocol'
import type { Critic } from './critic.ts'

const result = (score: 0 | 1, message: string): CriticResult => ({ score, message, metadata: null })

/** Content with everything. */
export const passCritic: Critic = { evaluate: () => Promise.resolve(result(1, 'Every result passes.')) }

/** Content when the work left changes in the repository. */
export const emptyPatchCritic: Critic = {
  async evaluate({ hasChanges }) {
    const changed = await hasChanges()
    if (changed === null) return null
    return changed ? result(1, 'The repository has changes.') : result(0, 'The repository has no changes.')
  },
}

/** Content when the agent has called finish, and the work left changes. Without a repository the first alone counts. */
export const agentFinishedCritic: Critic = {
  async evaluate({ judged, hasChanges }) {
    const changed = await hasChanges()
    if (changed === false) return result(0, 'The repository has no changes.')
    if (judged.kind !== 'action' || judged.action.kind !== 'FinishAction')
      return result(0, 'The agent has not called finish.')
    const about = changed === null ? 'There is no repository to look for changes in.' : 'The repository has changes.'
    return result(1, `The agent called finish. ${about}`)
  },
}
