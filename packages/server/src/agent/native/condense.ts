/**
 * Condenses the view of the native agent: before a request, on request, or after an error. Source: agent-core.md 1.5, 1.9,
 * 1.17; F41, F47, F61.
 */
import type { ConversationState, Draft, LLM, StoredEvent, TreeEvent } from '@parley/protocol'
import { LlmError, type LlmRequest } from '../../llm/index.ts'
import type { Step, StepContext } from '../agent.ts'
import {
  forgottenIn,
  hardRange,
  type Condenser,
  type CondenserInput,
  type TokenMeter,
  type CondenserResult,
} from '../condenser/index.ts'

/** Consecutive condensations without an answer of the model in between; then the run fails (F41). */
const MAX_IN_A_ROW = 3
/** Tokens of the window that are reserved for the answer when the configuration names no number. */
const ANSWER_TOKENS = 16_384
/** Tokens of the window that are reserved for a summary. */
const SUMMARY_TOKENS = 8_192

const TOO_LONG =
  'The conversation has become too long for its model. Give its agent a condenser, or a model with a larger window.'

export type ViewCondensation = {
  condenser: Condenser
  meter: TokenMeter
  /** The model that the view is for. */
  llm: LLM
}

/** Makes the agent's request to its model for a view. */
type RequestFor = (view: readonly TreeEvent[]) => LlmRequest

/** Condenses the view if it has to be. Returns whether it did; the step then ends. @throws LlmError when it cannot. */
export async function* condenseIfNeeded(
  condensation: ViewCondensation,
  requestFor: RequestFor,
  context: StepContext,
  signal: AbortSignal,
): AsyncGenerator<readonly Draft[], boolean, readonly StoredEvent[]> {
  const isRequested = context.isCondensationRequested()
  // The estimate alone must not condense for ever: now the model decides whether the view is too long.
  if (!isRequested && context.state().condensations >= MAX_IN_A_ROW) return false
  // The request is one of the agent itself, whose model has just refused the view, or had no room for its answer.
  const input = inputOf(condensation, isRequested ? null : requestFor, context, isRequested)
  const result = await condensation.condenser.condense(input, signal)
  const drafts = draftsOf(result, input.view, context.state())
  if (drafts.length > 0) yield drafts
  if (result.kind === 'failed') throw result.error
  return result.kind === 'condensed'
}

/**
 * Condenses the view on a person's request. The request and its result are one commit, so that no request stays pending when it
 * fails. Drafts nothing when there is nothing to forget.
 * @throws LlmError when the summary cannot be made.
 */
export async function* condense(
  condensation: ViewCondensation,
  requestFor: RequestFor,
  context: StepContext,
  signal: AbortSignal,
): Step {
  const input = inputOf(condensation, requestFor, context, true)
  if (hardRange(input.view) === null) return
  const result = await condensation.condenser.condense(input, signal)
  const drafts = draftsOf(result, input.view, context.state())
  if (result.kind === 'condensed') yield [condensationRequest(), ...drafts]
  else if (drafts.length > 0) yield drafts
  if (result.kind === 'failed') throw result.error
}

/**
 * Drafts that request a condensation after `error`; null when a shorter view would not help.
 * @throws LlmError that names a way out, when the view is too long and cannot be condensed, or was without success (F41).
 */
export function requestAfter(
  error: unknown,
  condensation: ViewCondensation | null,
  state: ConversationState,
): Draft[] | null {
  if (!(error instanceof LlmError)) return null
  const isTooLong = error.code === 'LLMContextWindowExceedError'
  if (!isTooLong && error.code !== 'LLMMalformedConversationHistoryError') return null
  const isHandled = condensation?.condenser.handlesRequests === true
  if (isHandled && state.condensations < MAX_IN_A_ROW) return [condensationRequest()]
  if (!isTooLong) return null
  const reason = isHandled
    ? `The conversation was made shorter ${MAX_IN_A_ROW} times in a row, and is still too long for its model.`
    : TOO_LONG
  throw new LlmError(error.code, `${reason} ${error.message}`, { cause: error })
}

/** The error of an answer for which the window had no room, where nothing can be condensed. */
export const windowFull = (model: string): LlmError =>
  new LlmError('LLMContextWindowExceedError', `${TOO_LONG} ${model}: the window was full before the answer ended.`)

/** Asks for a condensation before the next request. */
export const condensationRequest = (): Draft => ({ kind: 'CondensationRequest', source: 'environment' })

/**
 * Holds a copy of the view, because messages may arrive while the summary is written.
 * @param requestFor null: the model would refuse the view
 */
function inputOf(
  { meter, llm }: ViewCondensation,
  requestFor: RequestFor | null,
  context: StepContext,
  isRequested: boolean,
): CondenserInput {
  const view = [...context.view()]
  const limit = (output: number, share: number) => inputLimit(llm, context.state(), output, share)
  return {
    view,
    isRequested,
    inputLimit: limit(llm.max_output_tokens ?? ANSWER_TOKENS, 1 / 4),
    meter,
    next: requestFor && { llm, request: () => requestFor(view), limit: limit(SUMMARY_TOKENS, 1 / 8) },
  }
}

/**
 * The limit of the configuration; else the window reported with earlier answers, less tokens for the answer to the request.
 * @param share of the window that an answer takes at most
 */
function inputLimit({ max_input_tokens, usage_id }: LLM, { stats }: ConversationState, output: number, share: number) {
  if (max_input_tokens !== null) return max_input_tokens
  const window = stats[usage_id]?.accumulated_token_usage?.context_window ?? 0
  return window === 0 ? null : window - Math.min(output, window * share)
}

function draftsOf(result: CondenserResult, view: readonly TreeEvent[], state: ConversationState): Draft[] {
  if (result.kind !== 'condensed') return [...result.spent]
  const forgotten = forgottenIn(result.condensation)
  return [
    ...result.spent,
    result.condensation,
    ...deactivation(
      view.filter(({ id }) => forgotten.has(id)),
      state,
    ),
  ]
}

/** Deactivates skills whose text is forgotten, so that a message can activate them again (F61). */
function deactivation(
  forgotten: readonly TreeEvent[],
  { activated_knowledge_skills: active }: ConversationState,
): Draft[] {
  const lost = new Set(forgotten.flatMap((event) => (event.kind === 'MessageEvent' ? event.activated_skills : [])))
  const value = active.filter((name) => !lost.has(name))
  if (value.length === active.length) return []
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'activated_knowledge_skills', value }]
}
