/** Asks the model once and drafts its answer. Source: agent-core.md 1.5 to 1.10. */
import type { ConversationState, Draft, EventId, TreeEvent } from '@parley/protocol'
import { needsConfirmation, newEventId } from '@parley/protocol'
import type { Llm, LlmAnswer, LlmRequest } from '../../llm/index.ts'
import { LlmError } from '../../llm/index.ts'
import type { Step, StepContext } from '../agent.ts'
import type { CriticSubject, Critique } from '../critic/index.ts'
import type { PreparedCall } from '../gateway/prepared-call.ts'
import { isHarmless, type ToolGateway } from '../gateway/tool-gateway.ts'
import {
  action,
  agentMessage,
  discardedPair,
  invalidPair,
  noUsage,
  NO_THOUGHT,
  notice,
  usage,
  type Thought,
} from '../drafts.ts'
import { agentRequest, namesOf, type AgentRequestDeps } from './agent-request.ts'
import { cutAnswerIn, cutError, endOf, endsInARow, isCutCall } from './answer-end.ts'
import { condensationRequest, condenseIfNeeded, requestAfter, windowFull, type ViewCondensation } from './condense.ts'
import { leaveOut } from './leave-out.ts'
import { readAnswer } from './read-answer.ts'
import type { InvalidCall, RawCall } from '../gateway/normalise-call.ts'

/** Consecutive requests after an error that the model receives; then the run fails. */
const MAX_FEEDBACK_IN_A_ROW = 3

const FEEDBACK: Partial<Record<LlmError['code'], string>> = {
  LLMContentPolicyViolationError:
    "The model's provider refused the last request because of its content policy. Go on in another way: put it in other " +
    'words, and leave out what may have been taken for harmful.',
  LLMMalformedConversationHistoryError:
    "The model's provider did not accept the form of the conversation so far. It has been put together again; go on from here.",
}

const NO_VISION =
  'I cannot see the image: the model of this conversation takes text only. Describe what it shows, or choose a model that sees images.'

export type ThinkDeps = AgentRequestDeps & {
  llm: Llm
  gateway: ToolGateway
  /** Null: views are never condensed. */
  condensation: ViewCondensation | null
  /** True when the model is asked now; a recorded answer needs neither a condensation nor vision. */
  asksModel: () => boolean
  critique: Critique
}

/**
 * Asks the model once, unless the view has to be condensed first. The first draft is the usage record; all drafts of one answer
 * are one commit.
 */
export async function* think(deps: ThinkDeps, context: StepContext, signal: AbortSignal): Step {
  const { llm } = deps
  const condensation = deps.asksModel() ? deps.condensation : null
  if (
    condensation !== null &&
    (yield* condenseIfNeeded(condensation, (view) => agentRequest(deps, view, context), context, signal))
  )
    return
  const state = context.state()
  const view = context.view()
  if (deps.asksModel() && !deps.seesImages && !deps.hasVisionTool && endsWithImage(view)) {
    // The record costs nothing; its `seen_seq` says how far the agent has read, so that a message that arrives now is not lost.
    yield [
      usage({ usage: noUsage(llm.model) }, '', llm, state.seq),
      agentMessage({ ...NO_THOUGHT, text: NO_VISION }, null),
    ]
    return
  }
  const estimated = condensation?.meter.view(view) ?? 0
  const asked = agentRequest(deps, view, context)
  const request = { ...asked, ...afterCut(view, state, llm) }
  const { tools } = asked
  let given: LlmAnswer
  try {
    given = await llm.complete(request, context.emit, signal)
  } catch (error) {
    if (signal.aborted) throw error
    const request =
      leaveOut(error, { view, known: state.left_out, tools: namesOf(tools, deps.gateway) }) ??
      requestAfter(error, condensation, context.state())
    if (request !== null) {
      yield request
      return
    }
    const feedback = feedbackTo(error, view)
    if (feedback === undefined) throw error
    yield [notice(feedback)]
    return
  }
  condensation?.meter.learn(estimated, given.usage.tokens.prompt_tokens)
  const responseId = unusedResponseId(given.responseId, view)
  const spent = usage(given, responseId, llm, state.seq)
  // A recorded answer was read when it was given.
  const { answer, writtenCall } = deps.asksModel()
    ? readAnswer(given, tools, (name, args) => deps.gateway.knows(name, args))
    : { answer: given, writtenCall: null }
  const handlesRequests = condensation?.condenser.handlesRequests === true
  const ended = { ...answer, model: llm.model, tokens: tokensOf(answer), writtenCall }
  const end = endOf(ended, endsInARow(view))
  switch (end.kind) {
    case 'calls': {
      const drafts = await batch(answer, responseId, deps, view, context, signal)
      yield [spent, ...drafts, ...(end.isFull && handlesRequests ? [condensationRequest()] : [])]
      return
    }
    case 'again':
      if (end.isFull && !handlesRequests) {
        yield [spent, agentMessage(answer, responseId)]
        throw windowFull(llm.model)
      }
      yield [
        spent,
        agentMessage(answer, responseId),
        notice(end.notice),
        ...(end.isFull ? [condensationRequest()] : []),
      ]
      return
    case 'failed':
      yield [spent, ...(end.keepsText ? [agentMessage(answer, responseId)] : [])]
      throw end.error
    case 'finished': {
      const score = await scoreOf(deps, { kind: 'message', text: answer.text }, view, signal)
      yield [spent, agentMessage(answer, responseId, score)]
    }
  }
}

/** The newest answer, if it was cut off at its output limit. */
function afterCut(
  view: readonly TreeEvent[],
  { stats }: ConversationState,
  { usageId }: Llm,
): Pick<LlmRequest, 'afterCut'> {
  const answer = cutAnswerIn(view)
  if (answer === null) return {}
  const { per_turn_token = 0, context_window = 0 } = stats[usageId]?.accumulated_token_usage ?? {}
  return { afterCut: { answer, total: per_turn_token, window: context_window } }
}

const tokensOf = ({ usage }: LlmAnswer): number => usage.tokens.completion_tokens

async function batch(
  answer: LlmAnswer,
  responseId: string,
  deps: ThinkDeps,
  view: readonly TreeEvent[],
  context: StepContext,
  signal: AbortSignal,
): Promise<Draft[]> {
  const { gateway } = deps
  const calls: (PreparedCall | InvalidCall)[] = []
  for (const [index, call] of withOwnIds(answer.toolCalls).entries()) {
    const isCut = isCutCall(answer.toolCalls[index]!, index, answer)
    if (isCut) calls.push(gateway.refuseCut(call, cutError(call.name, { ...answer, tokens: tokensOf(answer) })))
    else calls.push(await gateway.prepareCall(call, context.state(), signal))
  }
  const end = calls.findIndex((call) => call.kind === 'action' && call.action.kind === 'FinishAction')
  const isDiscarded = (index: number): boolean => end !== -1 && index > end
  const accepted = calls.filter((call, index) => call.kind === 'action' && !isDiscarded(index)) as PreparedCall[]
  const assessed = await gateway.assess(accepted, { ...answer, history: view }, context.state(), signal)

  let thought: Thought = answer
  const takeThought = (): Thought => {
    const taken = thought
    thought = NO_THOUGHT
    return taken
  }
  const drafts: Draft[] = []
  for (const call of assessed) {
    // A call that a hook blocked concludes nothing, so it has no score.
    const score = call.blocked === null ? await scoreOf(deps, subjectOf(call, answer.text), view, signal) : null
    drafts.push(...call.drafts, action(call, responseId, takeThought(), score))
  }
  drafts.push(...blocks(assessed), ...confirmation(assessed, responseId, context.state()))
  for (const [index, call] of calls.entries()) {
    if (call.kind === 'invalid') drafts.push(...invalidPair(call, responseId, takeThought()))
    else if (isDiscarded(index)) drafts.push(...call.drafts, ...discardedPair(call, responseId, takeThought()))
  }
  return drafts
}

/** The critic's score. A recorded answer has none, because it was scored when it was given. */
const scoreOf = (
  { asksModel, critique }: ThinkDeps,
  subject: CriticSubject,
  view: readonly TreeEvent[],
  signal: AbortSignal,
) => (asksModel() ? critique(subject, view, signal) : Promise.resolve(null))

const subjectOf = ({ action, toolCall }: PreparedCall, thought: string): CriticSubject => ({
  kind: 'action',
  action,
  thought,
  name: toolCall.name,
  arguments: toolCall.arguments,
})

/** Reasons of one action that its request has. */
const MAX_REASONS = 16

/**
 * The confirmation request, when the policy needs one for any call of the batch; the batch then waits as a whole. Calls that a
 * hook blocked are not part of it (F44).
 */
function confirmation(
  calls: readonly PreparedCall[],
  responseId: string,
  { confirmation_policy }: ConversationState,
): Draft[] {
  const batch = calls.filter(({ blocked }) => blocked === null)
  const isLoneHarmless = calls.length === 1 && calls.every(({ action }) => isHarmless(action))
  if (isLoneHarmless || !batch.some(({ risk }) => needsConfirmation(confirmation_policy, risk))) return []
  const actions = batch.map(({ id, risk, reasons, tool: { origin } }) => ({
    action_id: id,
    risk,
    ...(origin === undefined ? {} : { origin }),
    ...(reasons.length === 0 ? {} : { reasons: reasons.slice(0, MAX_REASONS) }),
  }))
  const policy = confirmation_policy
  return [{ kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id: responseId, actions, policy }]
}

/** Records the calls that hooks blocked, by action, so that the blocks survive a restart. No earlier call is open here. */
function blocks(batch: readonly PreparedCall[]): Draft[] {
  const refused = batch.flatMap(({ id, blocked }): [EventId, string][] => (blocked === null ? [] : [[id, blocked]]))
  if (refused.length === 0) return []
  const value = Object.fromEntries(refused)
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value }]
}

/** Returns whether a person's newest message holds an image. Source: agent-core.md 1.5. */
function endsWithImage(view: readonly TreeEvent[]): boolean {
  const newest = view.findLast((event) => event.kind === 'MessageEvent' && event.source === 'user')
  return newest?.kind === 'MessageEvent' && newest.llm_message.content.some(({ type }) => type === 'image')
}

/** Replaces missing and repeated call ids (F45). */
function withOwnIds(calls: readonly RawCall[]): RawCall[] {
  const seen = new Set<string>()
  return calls.map((call) => {
    const id = call.id === '' || seen.has(call.id) ? `call_${newEventId().replaceAll('-', '')}` : call.id
    seen.add(id)
    return { ...call, id }
  })
}

/**
 * Makes the provider's response id unique: it identifies a batch, and some servers give every answer the same one. A condensed
 * view does not show every id that the branch uses.
 */
function unusedResponseId(id: string, view: readonly TreeEvent[]): string {
  const isUsed = view.some(
    (event) =>
      event.kind === 'CondensationSummaryEvent' || ('llm_response_id' in event && event.llm_response_id === id),
  )
  return isUsed ? `${id}-${newEventId()}` : id
}

/** The message to the model about an error that the same request would only repeat; undefined when the run fails instead. */
function feedbackTo(error: unknown, view: readonly TreeEvent[]): string | undefined {
  const text = error instanceof LlmError ? FEEDBACK[error.code] : undefined
  const newest = view.slice(-MAX_FEEDBACK_IN_A_ROW)
  const isExhausted = newest.every((event) => isNotice(event, text))
  return isExhausted ? undefined : text
}

function isNotice(event: TreeEvent, text: string | undefined): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return false
  const [first] = event.llm_message.content
  return first?.type === 'text' && first.text === text
}
