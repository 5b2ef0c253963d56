/** What is stored when a turn ends. Pure. Source: agent-core.md 11.8. */
import { classify, newEventId, plainMessage, textContent, type ConversationState, type Draft } from '@parley/protocol'
import type { AcpFailure } from './failure.ts'
import { stateChange, type AcpState } from './state.ts'
import { toolCallEvent } from './tool-calls.ts'
import type { PromptTurn } from './turn.ts'
import { tokensOf, usageDraft } from './usage.ts'

const NO_RESPONSE = 'The agent ended its turn without saying anything.'

export type ClosingParts = {
  turn: PromptTurn
  state: ConversationState
  /** Names the message that the turn answers. */
  responseId: string
  usageId: string
  model: string
  /** US dollars; null when unknown. */
  cost: number | null
  /** Members of the session's state that the end of the turn changes. */
  change: Partial<AcpState>
}

const REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'The agent stopped because its answer became too long.',
  max_turn_requests: 'The agent stopped because it had asked its model too often in one turn.',
}

/** An answer that came to its end. `isLast`: nothing else waits to be asked. */
export function completed(
  parts: ClosingParts,
  answer: Record<string, unknown>,
  { isLast }: { isLast: boolean },
): Draft[] {
  const { turn, responseId } = parts
  const said = turn.text.trim()
  const why = REASONS[String(answer['stopReason'])]
  const message =
    [...(said === '' ? [] : [said]), ...(why === undefined ? [] : [`[${why}]`])].join('\n\n') || NO_RESPONSE
  const id = newEventId()
  const callId = `call_${id.replaceAll('-', '')}`
  return [
    ...turn.calls.close('completed').map(toolCallEvent),
    ...spent(parts, answer, isLast),
    ...changed(parts),
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

/** An answer that gave way to a newer message: the message counts as asked. */
export function superseded(parts: ClosingParts): Draft[] {
  const note = '[Stopped here for a newer message.]'
  return [...brokenOff(parts), ...changed(parts), agentSays(withNote(parts.turn.text, note), parts.responseId)]
}

/** An answer that was cut short and will be asked for again. */
export function interrupted(parts: ClosingParts, note: string): Draft[] {
  const { text } = parts.turn
  return [
    ...brokenOff(parts),
    ...changed(parts),
    ...(text.trim() === '' ? [] : [agentSays(withNote(text, note), null)]),
  ]
}

/** An answer that failed; the run ends with it. */
export function failed(parts: ClosingParts, failure: AcpFailure): Draft[] {
  const note = failure.code === 'ACPPromptTimeout' ? `[${failure.message}]` : `[ACP error: ${failure.message}]`
  return [
    ...brokenOff(parts),
    ...changed(parts),
    agentSays(withNote(parts.turn.text, note), null),
    ...failureDrafts(failure),
  ]
}

/** A failure as the conversation tells it, and the end of its run. */
export function failureDrafts({ code, message }: AcpFailure): Draft[] {
  return [
    { kind: 'ConversationErrorEvent', source: 'agent', code, detail: message, classification: classify(code, message) },
    { kind: 'StatusChangedEvent', source: 'environment', status: 'error', reason: code },
  ]
}

/** An agent that goes round in circles, as the conversation tells it. */
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

/** Calls that were open failed with the turn, and what was spent is spent. */
function brokenOff(parts: ClosingParts): Draft[] {
  const { turn } = parts
  const calls = turn.calls.close('failed').map(toolCallEvent)
  return [...calls, ...(parts.cost === null ? [] : spent(parts, {}, null))]
}

const changed = ({ state, change }: ClosingParts): Draft[] => {
  const draft = stateChange(state, change)
  return draft === null ? [] : [draft]
}

/** `isLast` null: what came since is still owed an answer, and so is the message itself. */
function spent(
  { turn, state, responseId, usageId, model, cost }: ClosingParts,
  answer: Record<string, unknown>,
  isLast: boolean | null,
): Draft[] {
  const seen = isLast === null ? {} : { seenSeq: isLast ? state.seq : state.last_input_seq - 1 }
  const latency = (performance.now() - turn.startedAt) / 1000
  const { contextWindow } = turn.spent
  return [usageDraft({ usageId, model, responseId, tokens: tokensOf(answer), cost, contextWindow, latency, ...seen })]
}

const withNote = (text: string, note: string): string => (text.trim() === '' ? note : `${text.trimEnd()}\n\n${note}`)

function agentSays(text: string, llm_response_id: string | null): Draft {
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
