/** What a critic makes of the end of a turn. Source: agent-core.md 3.4, 3.5, 11.1. */
import type { ConversationState, Critic, Draft, StoredEvent } from '@parley/protocol'
import { hasChanges, type Workspace } from '../../workspace/index.ts'
import { followUp, openJudge } from '../critic/index.ts'
import type { Turn } from '../agent.ts'
import type { Log } from '../gateway.ts'

/** The drafts of a completed turn, with what the critic thinks of its finish. */
export async function judged(
  drafts: readonly Draft[],
  { critic, workspace, log }: { critic: Critic | null; workspace: Workspace; log: Log },
  view: Turn,
  signal: AbortSignal,
): Promise<Draft[]> {
  if (critic === null) return [...drafts]
  const judge = openJudge(critic, { tools: [], hasChanges: (own) => hasChanges(workspace, own), log })
  const results = drafts.map(async (draft): Promise<Draft> => {
    if (draft.kind !== 'ActionEvent' || draft.action === null) return draft
    const call = { action: draft.action, thought: '', name: draft.tool_name, arguments: draft.tool_call.arguments }
    return { ...draft, critic_result: await judge({ kind: 'action', ...call }, view.view(), signal) }
  })
  return Promise.all(results)
}

/** What asks the agent for another round when the critic was not content with what has just been stored. */
export function anotherRound(stored: readonly StoredEvent[], critic: Critic | null, state: ConversationState): Draft[] {
  const events = stored.map(({ event }) => event)
  const actions = events.filter((event) => event.kind === 'ActionEvent')
  return followUp(events as readonly Draft[], actions, critic, state)
}
