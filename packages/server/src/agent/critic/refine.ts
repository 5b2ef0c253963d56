/**
 * Another round when a critic was not content with a finish. Source: agent-core.md 3.5; F40, F48.
 *
 * Rules
 *   R1. Rounds are counted in `agent_state`, in the commit of the finish they follow, so that a restart goes on counting.
 *   R2. A new message of a person begins a new count.
 *   R3. What asks for the next round comes from the environment: it is no message of a person.
 */
import type { ActionEvent, ConversationState, Critic, CriticResult, Draft, StoredEvent } from '@parley/protocol'
import type { Step, Turn } from '../agent.ts'
import { notice } from '../native/drafts.ts'

const ROUND = 'iterative_refinement_iteration'
/** The message of the person that the rounds belong to. */
const TASK = 'iterative_refinement_message_id'

/** Beside the threshold, an issue that the critic is this sure of asks for another round. */
const ISSUE_THRESHOLD = 0.75

type Mentioned = { label: string; probability: number }

/** The drafts of a step, and after an executed finish that is not good enough what asks for another round. */
export async function* refined(step: Step, actions: readonly ActionEvent[], critic: Critic | null, turn: Turn): Step {
  let stored: readonly StoredEvent[] = []
  try {
    for (;;) {
      const { done, value } = await step.next(stored)
      if (done === true) return
      stored = yield [...value, ...followUp(value, actions, critic, turn.state())]
    }
  } finally {
    await step.return(undefined)
  }
}

/** What asks for another round after these drafts, which hold the answer to a finish among `actions`; nothing for others. */
export function followUp(
  drafts: readonly Draft[],
  actions: readonly ActionEvent[],
  critic: Critic | null,
  state: ConversationState,
): Draft[] {
  const settings = critic?.iterative_refinement
  if (critic === null || settings === null || settings === undefined) return []
  const finish = drafts.find(
    (draft) => draft.kind === 'ObservationEvent' && draft.observation.kind === 'FinishObservation',
  )
  if (finish?.kind !== 'ObservationEvent') return []
  const result = actions.find(({ id }) => id === finish.action_id)?.critic_result ?? null
  const round = roundOf(state)
  if (result === null || round >= settings.max_iterations) return []
  const issues = issuesIn(result, critic)
  if (result.score >= settings.success_threshold && issues.length === 0) return []
  const value = { ...state.agent_state, [ROUND]: round + 1, [TASK]: state.last_user_message_id }
  return [
    { kind: 'StateChangedEvent', source: 'environment', key: 'agent_state', value },
    notice(request(result, issues, round + 1, settings.max_iterations)),
  ]
}

/** Rounds asked for since the newest message of a person (R2). */
function roundOf({ agent_state, last_user_message_id }: ConversationState): number {
  const round = agent_state[ROUND]
  return agent_state[TASK] === last_user_message_id && typeof round === 'number' ? round : 0
}

function issuesIn({ metadata }: CriticResult, critic: Critic): Mentioned[] {
  if (critic.kind !== 'APIBasedCritic') return []
  const own = critic['issue_threshold']
  const threshold = typeof own === 'number' ? own : ISSUE_THRESHOLD
  return mentionedIn(metadata, 'agent_issues').filter(({ probability }) => probability >= threshold)
}

function mentionedIn(metadata: CriticResult['metadata'], list: string): Mentioned[] {
  const found = metadata?.[list]
  return Array.isArray(found) ? (found as Mentioned[]) : []
}

function request(result: CriticResult, issues: readonly Mentioned[], round: number, rounds: number): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const listed = (title: string, mentioned: readonly Mentioned[]) =>
    mentioned.length === 0
      ? []
      : [`${title}: ${mentioned.map(({ label, probability }) => `${label} (${percent(probability)})`).join(', ')}.`]
  return [
    `The result was judged before it is handed over, and its score is ${percent(result.score)} (round ${round} of at most ${rounds}).`,
    ...(result.message === null ? [] : [`The judge says: ${result.message}`]),
    ...listed('Problems it sees in the way you worked', issues),
    ...listed('What the person is likely to answer', mentionedIn(result.metadata, 'user_followups')),
    ...listed('Trouble with the surroundings', mentionedIn(result.metadata, 'infrastructure')),
    'Read the request once more, look at what you have done with fresh eyes, complete what is missing or wrong, check it, and ' +
      'then call finish again. If everything is as it should be, say so when you call finish.',
  ].join('\n')
}
