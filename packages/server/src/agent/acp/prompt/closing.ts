/** Drafts that close a turn. Pure. Source: agent-core.md 11.8. */
import { classify, newEventId, plainMessage, textContent, type ConversationState, type Draft } from '@parley/protocol'
import type { AcpFailure } from '../failure.ts'
import { stateChange, type AcpState } from '../state.ts'
import { toolCallEvent } from '../tool-calls.ts'
import type { PromptTurn } from './turn.ts'
import { tokensOf, usageDraft } from '../session/usage.ts'

const NO_RESPONSE = 'The agent ended its turn without saying anything.'

/** A turn that has ended, and the facts that its drafts need. */
export type ClosingTurn = {
  turn: PromptTurn
  state: ConversationState
  /** Contains the id of the message that the turn answers. */
  responseId: string
  usageId: string
  model: string
  /** US dollars; null when unknown. */
  cost: number | null
  /** Session facts that the end of the turn changes. */
  change: Partial<AcpState>
}

const REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'The agent stopped because its answer became too long.',
  max_turn_requests: 'The agent stopped because it had asked its model too often in one turn.',
}

/** Drafts of a complete answer. `isLast`: no other message waits for a prompt. */
export function completedDrafts(
  closing: ClosingTurn,
  answer: Record<string, unknown>,
  { isLast }: { isLast: boolean },
): Draft[] {
  const { turn, responseId } = closing
  const text = turn.text.trim()
  const why = REASONS[String(answer['stopReason'])]
  const message =
    [...(text === '' ? [] : [text]), ...(why === undefined ? [] : [`[${why}]`])].join('\n\n') || NO_RESPONSE
  const id = newEventId()
  const callId = `call_${id.replaceAll('-', '')}`
  return [
    ...turn.calls.close('completed').map(toolCallEvent),
    ...usageDrafts(closing, answer, isLast),
    ...stateDrafts(closing),
    {
      kind: 'ActionEvent',
      source: 'agent',
      id,
      thought: [],
      reasoning_content: turn.reasoning === '' ? null : turn.reasoning,
      thinking_blocks: [],
      responses_reasoning_item: null,
      action: { kind: 'FinishAction', message },
      tool_name: 'finish',
      tool_call_id: callId,
      tool_call: {
        id: callId,
        responses_item_id: null,
        name: 'finish',
        arguments: JSON.stringify({ message }),
        origin: 'completion',
      },
      llm_response_id: responseId,
      security_risk: 'LOW',
      critic_result: null,
      summary: null,
    },
    {
      kind: 'ObservationEvent',
      source: 'environment',
      tool_name: 'finish',
      tool_call_id: callId,
      observation: { kind: 'FinishObservation', content: [textContent(message)], is_error: false },
      action_id: id,
      extended_content: [],
    },
  ]
}

/** Drafts of an answer that was cancelled for a newer message; its message counts as answered. */
export function supersededDrafts(closing: ClosingTurn): Draft[] {
  const note = '[Stopped here for a newer message.]'
  return [
    ...unfinishedDrafts(closing),
    ...stateDrafts(closing),
    agentMessage(withNote(closing.turn.text, note), closing.responseId),
  ]
}

/** Drafts of a cancelled answer whose message will be sent again. */
export function interruptedDrafts(closing: ClosingTurn, note: string): Draft[] {
  const { text } = closing.turn
  return [
    ...unfinishedDrafts(closing),
    ...stateDrafts(closing),
    ...(text.trim() === '' ? [] : [agentMessage(withNote(text, note), null)]),
  ]
}

/** Drafts of a failed answer, which ends the run. */
export function failedDrafts(closing: ClosingTurn, failure: AcpFailure): Draft[] {
  const note = failure.code === 'ACPPromptTimeout' ? `[${failure.message}]` : `[ACP error: ${failure.message}]`
  return [
    ...unfinishedDrafts(closing),
    ...stateDrafts(closing),
    agentMessage(withNote(closing.turn.text, note), null),
    ...failureDrafts(failure),
  ]
}

/** The error event of a failure, and the end of the run. */
export function failureDrafts({ code, message }: AcpFailure): Draft[] {
  return [
    { kind: 'ConversationErrorEvent', source: 'agent', code, detail: message, classification: classify(code, message) },
    { kind: 'StatusChangedEvent', source: 'environment', status: 'error', reason: code },
  ]
}

/** The error event of a repetition, and the end of the run. */
export const stuckDrafts = (detail: string): Draft[] => [
  {
    kind: 'ConversationErrorEvent',
    source: 'agent',
    code: 'AgentStuck',
    detail,
    classification: classify('AgentStuck', detail),
  },
  { kind: 'StatusChangedEvent', source: 'environment', status: 'stuck', reason: 'AgentStuck' },
]

/** Drafts that mark open calls as failed and record the cost. */
function unfinishedDrafts(closing: ClosingTurn): Draft[] {
  const { turn } = closing
  const calls = turn.calls.close('failed').map(toolCallEvent)
  return [...calls, ...(closing.cost === null ? [] : usageDrafts(closing, {}, null))]
}

const stateDrafts = ({ state, change }: ClosingTurn): Draft[] => {
  const draft = stateChange(state, change)
  return draft === null ? [] : [draft]
}

/** `isLast` null: the turn's message and all later ones still need an answer. */
function usageDrafts(
  { turn, state, responseId, usageId, model, cost }: ClosingTurn,
  answer: Record<string, unknown>,
  isLast: boolean | null,
): Draft[] {
  const seen = isLast === null ? {} : { seenSeq: isLast ? state.seq : state.last_input_seq - 1 }
  const latency = (performance.now() - turn.startedAt) / 1000
  const { contextWindow } = turn.usage
  return [usageDraft({ usageId, model, responseId, tokens: tokensOf(answer), cost, contextWindow, latency, ...seen })]
}

const withNote = (text: string, note: string): string => (text.trim() === '' ? note : `${text.trimEnd()}\n\n${note}`)

function agentMessage(text: string, llm_response_id: string | null): Draft {
  return {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: plainMessage('assistant', [textContent(text)]),
    llm_response_id,
    activated_skills: [],
    extended_content: [],
    sender: null,
    critic_result: null,
  }
}
