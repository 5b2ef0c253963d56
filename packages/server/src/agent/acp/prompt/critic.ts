/** The critic's part in the end of a turn. Source: agent-core.md 3.4, 3.5, 11.1. */
import type { ConversationState, Critic, Draft, StoredEvent } from '@parley/protocol'
import type { Fetch } from '../../../egress/index.ts'
import { hasChanges, type Workspace } from '../../../workspace/index.ts'
import { followUp, openCritic } from '../../critic/index.ts'
import type { StepContext } from '../../agent.ts'
import type { Log } from '../../agent.ts'

type CriticDeps = { critic: Critic | null; workspace: Workspace; fetchCritic: Fetch; log: Log }

/** The drafts of a completed turn, with the critic's result on the finish action. */
export async function withCriticResults(
  drafts: readonly Draft[],
  { critic, workspace, fetchCritic: fetch, log }: CriticDeps,
  view: StepContext,
  signal: AbortSignal,
): Promise<Draft[]> {
  if (critic === null) return [...drafts]
  const assess = openCritic(critic, { tools: [], hasChanges: (own) => hasChanges(workspace, own), fetch, log })
  const results = drafts.map(async (draft): Promise<Draft> => {
    if (draft.kind !== 'ActionEvent' || draft.action === null) return draft
    const call = { action: draft.action, thought: '', name: draft.tool_name, arguments: draft.tool_call.arguments }
    return { ...draft, critic_result: await assess({ kind: 'action', ...call }, view.view(), signal) }
  })
  return Promise.all(results)
}

/** Drafts that request another turn when the critic's result on the stored events calls for one. */
export function followUpDrafts(
  stored: readonly StoredEvent[],
  critic: Critic | null,
  state: ConversationState,
): Draft[] {
  const events = stored.map(({ event }) => event)
  const actions = events.filter((event) => event.kind === 'ActionEvent')
  return followUp(events as readonly Draft[], actions, critic, state)
}
