/** Drafts that the native agent writes; pure. */
import type { ActionEvent, AgentErrorEvent, CriticResult, Draft, ErrorClassification, EventId } from '@parley/protocol'
import { plainMessage, textContent } from '@parley/protocol'
import type { LlmAnswer } from '../../llm/index.ts'
import type { Judged, Outcome } from '../gateway.ts'
import type { InvalidCall } from './tool-call.ts'

/** A draft whose id is known before it is stored, because another draft of the same commit names it. */
export type Named<D> = D & { id: EventId }

const AGENT_ACTION: ErrorClassification = {
  kind: 'agent_action',
  retryable: true,
  user_action: 'retry',
  error_id: null,
}
const INTERNAL: ErrorClassification = { kind: 'internal', retryable: false, user_action: 'none', error_id: null }

/** What a model's answer has besides its calls; only the first action of a response carries it. */
export type Thought = Pick<LlmAnswer, 'text' | 'reasoning' | 'thinkingBlocks' | 'reasoningItem'>
export const NO_THOUGHT: Thought = { text: '', reasoning: null, thinkingBlocks: [] }

/** What an answer cost. `seenSeq`: how far the model had seen the log; absent for questions beside the conversation. */
export function usage(
  answer: Pick<LlmAnswer, 'usage'>,
  responseId: string,
  llm: { usageId: string },
  seenSeq?: number,
): Draft {
  const { tokens, costUsd, latency } = answer.usage
  return {
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id: llm.usageId,
    // The one that answered, which may be a fallback.
    model: tokens.model,
    response_id: responseId,
    cost: costUsd,
    latency,
    tokens: { ...tokens, response_id: responseId },
    ...(seenSeq === undefined ? {} : { seen_seq: seenSeq }),
  }
}

export function action(
  judged: Judged,
  responseId: string,
  thought: Thought,
  critic_result: CriticResult | null = null,
): Named<Draft> {
  return {
    ...actionBase(judged, responseId, thought),
    critic_result,
    id: judged.id,
    action: judged.action,
    security_risk: judged.risk,
    summary: judged.summary,
  }
}

/** The two events of a call that could not be understood: what was asked, and why it was refused. */
export function invalidPair(call: InvalidCall, responseId: string, thought: Thought): Draft[] {
  const { id, name } = call.toolCall
  const asked: Draft = {
    ...actionBase(call, responseId, thought),
    action: null,
    security_risk: 'UNKNOWN',
    summary: null,
  }
  return [asked, agentError(name, id, call.error, AGENT_ACTION)]
}

/** A call that will not be performed, and why. */
export function discardedPair(judged: Judged, responseId: string, thought: Thought): Draft[] {
  const { id, name } = judged.toolCall
  const error = 'This call was discarded because finish was called before it in the same response.'
  return [
    action(judged, responseId, thought),
    agentError(name, id, error, { ...AGENT_ACTION, retryable: false, user_action: 'none' }),
  ]
}

function actionBase(
  { toolCall }: Judged | InvalidCall,
  responseId: string,
  { text, reasoning, thinkingBlocks, reasoningItem }: Thought,
) {
  return {
    kind: 'ActionEvent' as const,
    source: 'agent' as const,
    thought: text.trim() === '' ? [] : [textContent(text)],
    reasoning_content: reasoning,
    thinking_blocks: thinkingBlocks,
    responses_reasoning_item: reasoningItem ?? null,
    tool_name: toolCall.name,
    tool_call_id: toolCall.id,
    tool_call: toolCall,
    llm_response_id: responseId,
    critic_result: null,
  }
}

function agentError(
  tool_name: string,
  tool_call_id: string,
  error: string,
  classification: ErrorClassification,
): Omit<AgentErrorEvent, 'id' | 'timestamp' | 'parent_id'> {
  return { kind: 'AgentErrorEvent', source: 'agent', tool_name, tool_call_id, error, classification }
}

/** The answer to an action, behind the records of the hooks that looked at it (F32). */
export function answer({ id, tool_name, tool_call_id }: ActionEvent, outcome: Outcome): Draft[] {
  if (outcome.kind === 'error') return [agentError(tool_name, tool_call_id, outcome.error, outcome.classification)]
  const { observation, drafts } = outcome
  const stored: Draft = {
    kind: 'ObservationEvent',
    source: 'environment',
    tool_name,
    tool_call_id,
    observation,
    action_id: id,
    extended_content: [],
  }
  return [...drafts, stored]
}

/** Nobody can know what a call did that was under way when the service died. Source: agent-core.md 2.6. */
export function unknownEffect({ tool_name, tool_call_id }: ActionEvent): Draft {
  const error =
    'The service restarted while this call was running. Whether it took effect, wholly or in part, is not known, and it was ' +
    'not run again. Look at the state of things before you repeat it.'
  return agentError(tool_name, tool_call_id, error, INTERNAL)
}

/** A call that never began, and of which only the form with its secrets hidden is left. */
export function forgottenCall(event: ActionEvent): Draft {
  const error =
    'The service restarted before this call began, and its text held a secret value that is not kept. It was not performed; ' +
    'make the call again.'
  return agentError(event.tool_name, event.tool_call_id, error, INTERNAL)
}

/** A hook's refusal of one action. */
export function hookRejection({ id, tool_name, tool_call_id }: ActionEvent, reason: string): Draft {
  return {
    kind: 'UserRejectObservation',
    source: 'environment',
    tool_name,
    tool_call_id,
    rejection_reason: reason,
    rejection_source: 'hook',
    action_id: id,
  }
}

/** What the agent says. */
export function agentMessage(
  { text, reasoning, thinkingBlocks, reasoningItem }: Thought,
  responseId: string | null,
  critic_result: CriticResult | null = null,
): Draft {
  const thoughts = {
    reasoning_content: reasoning,
    thinking_blocks: thinkingBlocks,
    responses_reasoning_item: reasoningItem ?? null,
  }
  return { ...message('agent', 'assistant', text, responseId, thoughts), critic_result }
}

/** A word of the framework to the model; no human turn (F40). */
export function notice(text: string): Draft {
  return message('environment', 'user', text, null, {})
}

type MessageDraft = Extract<Draft, { kind: 'MessageEvent' }>

function message(
  source: MessageDraft['source'],
  role: MessageDraft['llm_message']['role'],
  text: string,
  llm_response_id: string | null,
  reasoning: Partial<
    Pick<MessageDraft['llm_message'], 'reasoning_content' | 'thinking_blocks' | 'responses_reasoning_item'>
  >,
): MessageDraft {
  return {
    kind: 'MessageEvent',
    source,
    llm_message: { ...plainMessage(role, text === '' ? [] : [textContent(text)]), ...reasoning },
    llm_response_id,
    activated_skills: [],
    extended_content: [],
    sender: null,
    critic_result: null,
  }
}
