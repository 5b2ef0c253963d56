/**
 * Iterative refinement: a low score of a finish starts another round. Source: agent-core.md 3.5; F40, F48.
 *
 * Rules
 *   R1. Rounds are counted in `agent_state`, in the commit of the finish that they follow, so that the count survives a restart.
 *   R2. A new message of a person resets the count.
 *   R3. The request for the next round has the source `environment`: it is not a message of a person.
 */
import type { ActionEvent, ConversationState, Critic, CriticResult, Draft } from '@parley/protocol'
import { notice } from '../drafts.ts'
import type { PredictedLabel } from './api-based.ts'

const ROUND = 'iterative_refinement_iteration'
/** Id of the person's message that the rounds belong to. */
const TASK = 'iterative_refinement_message_id'

/** An issue with at least this probability starts another round, whatever the score. */
const ISSUE_THRESHOLD = 0.75

/**
 * Returns the drafts that start another round when `drafts` hold the result of a finish among `actions` whose score is too low;
 * else none.
 */
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

/** Number of rounds since the newest message of a person (R2). */
function roundOf({ agent_state, last_user_message_id }: ConversationState): number {
  const round = agent_state[ROUND]
  return agent_state[TASK] === last_user_message_id && typeof round === 'number' ? round : 0
}

function issuesIn({ metadata }: CriticResult, critic: Critic): PredictedLabel[] {
  if (critic.kind !== 'APIBasedCritic') return []
  const own = critic['issue_threshold']
  const threshold = typeof own === 'number' ? own : ISSUE_THRESHOLD
  return labelsIn(metadata, 'agent_issues').filter(({ probability }) => probability >= threshold)
}

function labelsIn(metadata: CriticResult['metadata'], list: string): PredictedLabel[] {
  const labels = metadata?.[list]
  return Array.isArray(labels) ? (labels as PredictedLabel[]) : []
}

function request(result: CriticResult, issues: readonly PredictedLabel[], round: number, rounds: number): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const listed = (title: string, labels: readonly PredictedLabel[]) =>
    labels.length === 0
      ? []
      : [`${title}: ${labels.map(({ label, probability }) => `${label} (${percent(probability)})`).join(', ')}.`]
  return [
    `The result was judged before it is handed over, and its score is ${percent(result.score)} (round ${round} of at most ${rounds}).`,
    ...(result.message === null ? [] : [`The judge says: ${result.message}`]),
    ...listed('Problems it sees in the way you worked', issues),
    ...listed('What the person is likely to answer', labelsIn(result.metadata, 'user_followups')),
    ...listed('Trouble with the surroundings', labelsIn(result.metadata, 'infrastructure')),
    'Read the request once more, look at what you have done with fresh eyes, complete what is missing or wrong, check it, and ' +
      'then call finish again. If everything is as it should be, say so when you call finish.',
  ].join('\n')
}
