/** When the native agent makes its view shorter. Source: agent-core.md 1.5 (5), 1.9, 1.17; F41, F47, F61. */
import type { ConversationState, Draft, LLM, StoredEvent, TreeEvent } from '@parley/protocol'
import { LlmError } from '../../llm/index.ts'
import type { Step, Turn } from '../agent.ts'
import {
  forgottenIn,
  hardRange,
  type Condenser,
  type Situation,
  type TokenMeter,
  type Verdict,
} from '../condenser/index.ts'

/** So often in a row a view is made shorter without an answer of the model in between; then the run fails (F41). */
const MAX_IN_A_ROW = 3
/** Tokens of the window that are left for the answer when the configuration does not say. */
const ANSWER_TOKENS = 16_384

export type Shortener = {
  condenser: Condenser
  meter: TokenMeter
  /** The model whose view it is. */
  llm: Pick<LLM, 'max_input_tokens' | 'max_output_tokens' | 'usage_id'>
}

/** Makes the view shorter if it has to be. True: it did, and the loop has to look again. @throws LlmError when it cannot. */
export async function* shorten(
  shortener: Shortener,
  turn: Turn,
  signal: AbortSignal,
): AsyncGenerator<readonly Draft[], boolean, readonly StoredEvent[]> {
  const isRequested = turn.isCondensationRequested()
  // The model has the last word about what is too long: our own estimate is not acted on for ever.
  if (!isRequested && turn.state().condensations >= MAX_IN_A_ROW) return false
  const situation = situationOf(shortener, turn, isRequested)
  const verdict = await shortener.condenser.condense(situation, signal)
  const drafts = draftsOf(verdict, situation.view, turn.state())
  if (drafts.length > 0) yield drafts
  if (verdict.kind === 'failed') throw verdict.error
  return verdict.kind === 'condensed'
}

/**
 * Makes the view shorter because a person wants it; the wish and what came of it are one commit, so that nothing is left
 * pending when it fails. Nothing is drafted when there is nothing to forget.
 * @throws LlmError when the summary cannot be made.
 */
export async function* condense(shortener: Shortener, turn: Turn, signal: AbortSignal): Step {
  const situation = situationOf(shortener, turn, true)
  if (hardRange(situation.view) === null) return
  const verdict = await shortener.condenser.condense(situation, signal)
  const drafts = draftsOf(verdict, situation.view, turn.state())
  if (verdict.kind === 'condensed') yield [condensationRequest(), ...drafts]
  else if (drafts.length > 0) yield drafts
  if (verdict.kind === 'failed') throw verdict.error
}

/**
 * Drafts that ask for a shorter view after `error`; null when that would not help.
 * @throws LlmError with a way out when the view is too long and cannot become shorter, or did so in vain (F41).
 */
export function requestAfter(error: unknown, shortener: Shortener | null, state: ConversationState): Draft[] | null {
  if (!(error instanceof LlmError)) return null
  const isTooLong = error.code === 'LLMContextWindowExceedError'
  if (!isTooLong && error.code !== 'LLMMalformedConversationHistoryError') return null
  const isHandled = shortener?.condenser.handlesRequests === true
  if (isHandled && state.condensations < MAX_IN_A_ROW) return [condensationRequest()]
  if (!isTooLong) return null
  const reason = isHandled
    ? `The conversation was made shorter ${MAX_IN_A_ROW} times in a row, and is still too long for its model.`
    : 'The conversation has become too long for its model. Give its agent a condenser, or a model with a larger window.'
  throw new LlmError(error.code, `${reason} ${error.message}`, { cause: error })
}

const condensationRequest = (): Draft => ({ kind: 'CondensationRequest', source: 'environment' })

/** A copy of the view, because messages may arrive while the summary is written. */
function situationOf({ meter, llm }: Shortener, turn: Turn, isRequested: boolean): Situation {
  return { view: [...turn.view()], isRequested, inputLimit: inputLimit(llm, turn.state()), meter }
}

/** What the configuration says, or the window that came with earlier answers, less room for the next one. */
function inputLimit({ max_input_tokens, max_output_tokens, usage_id }: Shortener['llm'], { stats }: ConversationState) {
  if (max_input_tokens !== null) return max_input_tokens
  const window = stats[usage_id]?.accumulated_token_usage?.context_window ?? 0
  return window === 0 ? null : window - Math.min(max_output_tokens ?? ANSWER_TOKENS, window / 4)
}

function draftsOf(verdict: Verdict, view: readonly TreeEvent[], state: ConversationState): Draft[] {
  if (verdict.kind !== 'condensed') return [...verdict.spent]
  const { condensation } = verdict
  const forgotten = forgottenIn(condensation)
  return [
    ...verdict.spent,
    condensation,
    ...reactivation(
      view.filter(({ id }) => forgotten.has(id)),
      state,
    ),
  ]
}

/** A skill whose text is forgotten may be given again (F61). */
function reactivation(
  forgotten: readonly TreeEvent[],
  { activated_knowledge_skills: active }: ConversationState,
): Draft[] {
  const lost = new Set(forgotten.flatMap((event) => (event.kind === 'MessageEvent' ? event.activated_skills : [])))
  const value = active.filter((name) => !lost.has(name))
  if (value.length === active.length) return []
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'activated_knowledge_skills', value }]
}
