/** One question to the model, and what its answer becomes. Source: agent-core.md 1.5 to 1.10. */
import type { ConversationState, Draft, EventId, TreeEvent } from '@parley/protocol'
import { needsConfirmation, newEventId } from '@parley/protocol'
import type { Llm, LlmAnswer, LlmTool } from '../../llm/index.ts'
import { LlmError } from '../../llm/index.ts'
import type { Step, Turn } from '../agent.ts'
import type { Judge, Judgeable } from '../critic/index.ts'
import { isHarmless, type Gateway, type Judged } from '../gateway.ts'
import { action, agentMessage, discardedPair, invalidPair, NO_THOUGHT, notice, usage, type Thought } from './drafts.ts'
import type { MessageBuilder } from './messages.ts'
import { requestAfter, shorten, type Shortener } from './shorten.ts'
import { nothingSpent } from './spending.ts'
import type { InvalidCall, RawCall } from './tool-call.ts'
import { withReferences } from './vision.ts'

/** So often in a row the model is asked again after it refused to answer; then the run fails. */
const MAX_FEEDBACK_IN_A_ROW = 3

const NUDGE =
  'Your last answer held neither a tool call nor a text. Call a tool to go on, or say what you have to say; ' +
  'call finish when the task is done.'
const FEEDBACK: Partial<Record<LlmError['code'], string>> = {
  LLMContentPolicyViolationError:
    "The model's provider refused the last request because of its content policy. Go on in another way: put it in other " +
    'words, and leave out what may have been taken for harmful.',
  LLMMalformedConversationHistoryError:
    "The model's provider did not accept the form of the conversation so far. It has been put together again; go on from here.",
}

const BLIND =
  'I cannot see the image: the model of this conversation takes text only. Describe what it shows, or choose a model that sees images.'

export type Thinker = {
  llm: Llm
  gateway: Gateway
  messages: MessageBuilder
  tools: readonly LlmTool[]
  /** Null: views are never made shorter. */
  shortener: Shortener | null
  /** Whether images may be sent. */
  seesImages: boolean
  /** Whether the agent can have another model look at images. */
  hasEyes: boolean
  /** Whether the model is really asked now: a recorded answer needs neither a shorter view nor eyes. */
  isAsked: () => boolean
  /** What the agent's critic thinks of a call or a message. */
  judge: Judge
}

/**
 * Asks once, unless the view has to become shorter first. The first draft that is stored is what it cost; all drafts of one
 * answer are one commit.
 */
export async function* think(thinker: Thinker, turn: Turn, signal: AbortSignal): Step {
  const { llm, messages, tools } = thinker
  const shortener = thinker.isAsked() ? thinker.shortener : null
  if (shortener !== null && (yield* shorten(shortener, turn, signal))) return
  const state = turn.state()
  const view = turn.view()
  if (thinker.isAsked() && !thinker.seesImages && !thinker.hasEyes && endsWithImage(view)) {
    // Nothing was spent; the record says up to where the agent has read, so that a message that comes now is not lost.
    yield [
      usage({ usage: nothingSpent(llm.model) }, '', llm, state.seq),
      agentMessage({ ...NO_THOUGHT, text: BLIND }, null),
    ]
    return
  }
  const estimated = shortener?.meter.view(view) ?? 0
  const built = messages.build(view)
  const shown = thinker.seesImages || !thinker.hasEyes ? built : withReferences(built, view)
  const request = { messages: shown, tools, cacheKey: turn.cacheKey ?? turn.conversationId }
  let answer: LlmAnswer
  try {
    answer = await llm.complete(request, turn.emit, signal)
  } catch (error) {
    if (signal.aborted) throw error
    const request = requestAfter(error, shortener, turn.state())
    if (request !== null) {
      yield request
      return
    }
    const feedback = feedbackTo(error, view)
    if (feedback === undefined) throw error
    yield [notice(feedback)]
    return
  }
  shortener?.meter.learn(estimated, answer.usage.tokens.prompt_tokens)
  const responseId = unusedResponseId(answer.responseId, view)
  const spent = usage(answer, responseId, llm, state.seq)
  if (answer.toolCalls.length > 0) {
    yield [spent, ...(await batch(answer, responseId, thinker, view, turn, signal))]
    return
  }
  // Only text ends a run; thinking alone, or nothing at all, is asked about.
  if (answer.text.trim() === '') {
    yield [spent, agentMessage(answer, responseId), notice(NUDGE)]
    return
  }
  const verdict = await verdictOn(thinker, { kind: 'message', text: answer.text }, view, signal)
  yield [spent, agentMessage(answer, responseId, verdict)]
}

async function batch(
  answer: LlmAnswer,
  responseId: string,
  thinker: Thinker,
  view: readonly TreeEvent[],
  turn: Turn,
  signal: AbortSignal,
): Promise<Draft[]> {
  const { gateway } = thinker
  const judged: (Judged | InvalidCall)[] = []
  for (const call of withOwnIds(answer.toolCalls)) judged.push(await gateway.judge(call, turn.state(), signal))
  const end = judged.findIndex((call) => call.kind === 'action' && call.action.kind === 'FinishAction')
  const isDiscarded = (index: number): boolean => end !== -1 && index > end
  const accepted = judged.filter((call, index) => call.kind === 'action' && !isDiscarded(index)) as Judged[]
  const surviving = await gateway.assess(accepted, { ...answer, history: view }, turn.state(), signal)

  let thought: Thought = answer
  const takeThought = (): Thought => {
    const taken = thought
    thought = NO_THOUGHT
    return taken
  }
  const drafts: Draft[] = []
  for (const call of surviving) {
    // What a hook has blocked concludes nothing.
    const verdict = call.blocked === null ? await verdictOn(thinker, judgeable(call, answer.text), view, signal) : null
    drafts.push(...call.drafts, action(call, responseId, takeThought(), verdict))
  }
  drafts.push(...blocks(surviving, turn.state()), ...confirmation(surviving, responseId, turn.state()))
  for (const [index, call] of judged.entries()) {
    if (call.kind === 'invalid') drafts.push(...invalidPair(call, responseId, takeThought()))
    else if (isDiscarded(index)) drafts.push(...call.drafts, ...discardedPair(call, responseId, takeThought()))
  }
  return drafts
}

/** A recorded answer has been judged when it was given. */
const verdictOn = ({ isAsked, judge }: Thinker, judged: Judgeable, view: readonly TreeEvent[], signal: AbortSignal) =>
  isAsked() ? judge(judged, view, signal) : Promise.resolve(null)

const judgeable = ({ action, toolCall }: Judged, thought: string): Judgeable => ({
  kind: 'action',
  action,
  thought,
  name: toolCall.name,
  arguments: toolCall.arguments,
})

/**
 * A request to a person when the policy wants one for any call of the batch; the batch then waits as a whole. What a hook
 * has blocked has no part in it (F44).
 */
function confirmation(
  judged: readonly Judged[],
  responseId: string,
  { confirmation_policy }: ConversationState,
): Draft[] {
  const batch = judged.filter(({ blocked }) => blocked === null)
  const isSpeech = judged.length === 1 && judged.every(({ action }) => isHarmless(action))
  if (isSpeech || !batch.some(({ risk }) => needsConfirmation(confirmation_policy, risk))) return []
  const actions = batch.map(({ id, risk }) => ({ action_id: id, risk }))
  return [{ kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id: responseId, actions }]
}

/** What hooks refused is remembered by action, so that a restart does not forget it. */
function blocks(batch: readonly Judged[], { blocked_actions }: ConversationState): Draft[] {
  const refused = batch.flatMap(({ id, blocked }): [EventId, string][] => (blocked === null ? [] : [[id, blocked]]))
  if (refused.length === 0) return []
  const value = { ...blocked_actions, ...Object.fromEntries(refused) }
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value }]
}

/** Whether a person's newest message holds an image. Source: agent-core.md 1.5 (6). */
function endsWithImage(view: readonly TreeEvent[]): boolean {
  const newest = view.findLast((event) => event.kind === 'MessageEvent' && event.source === 'user')
  return newest?.kind === 'MessageEvent' && newest.llm_message.content.some(({ type }) => type === 'image')
}

/** Calls whose ids tell them apart: a missing or repeated one is replaced (F45). */
function withOwnIds(calls: readonly RawCall[]): RawCall[] {
  const seen = new Set<string>()
  return calls.map((call) => {
    const id = call.id === '' || seen.has(call.id) ? `call_${newEventId().replaceAll('-', '')}` : call.id
    seen.add(id)
    return { ...call, id }
  })
}

/** The provider's id, made unique: some servers give every answer the same one, and batches are told apart by it. */
function unusedResponseId(id: string, view: readonly TreeEvent[]): string {
  const isUsed = view.some((event) => 'llm_response_id' in event && event.llm_response_id === id)
  return isUsed ? `${id}-${newEventId()}` : id
}

/** What to tell the model about an error that asking in the same way would only repeat; undefined: the run fails. */
function feedbackTo(error: unknown, view: readonly TreeEvent[]): string | undefined {
  const text = error instanceof LlmError ? FEEDBACK[error.code] : undefined
  const newest = view.slice(-MAX_FEEDBACK_IN_A_ROW)
  const isExhausted = newest.length === MAX_FEEDBACK_IN_A_ROW && newest.every((event) => isNotice(event, text))
  return isExhausted ? undefined : text
}

function isNotice(event: TreeEvent, text: string | undefined): boolean {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return false
  const [first] = event.llm_message.content
  return first?.type === 'text' && first.text === text
}
