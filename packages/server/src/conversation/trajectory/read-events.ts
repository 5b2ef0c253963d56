import type { ContentPart, RecordedEvent } from '@parley/protocol'
import { outcome, outcomeOf } from '../../agent/index.ts'
import type { MessageContent } from '../record/record.ts'
import type { AgentTurn, Turns } from './turns.ts'

/** Reads events of this server, from an export or a page. Source: agent-server-wire.md 4. */
export class EventReader {
  readonly #turns: Turns
  /** The newest answer with calls, and the response id that they share. */
  #open: { turn: AgentTurn; responseId: string } | null = null

  constructor(turns: Turns) {
    this.#turns = turns
  }

  take(index: number, event: RecordedEvent): void {
    switch (event.kind) {
      case 'SystemPromptEvent':
        return
      case 'MessageEvent':
        return this.#message(index, event)
      case 'ActionEvent': {
        const { tool_call, tool_call_id, id, llm_response_id } = event
        if (this.#open?.responseId !== llm_response_id) {
          const turn = this.#turns.answered(index, textOf(event.thought), event.reasoning_content ?? null)
          this.#open = { turn, responseId: llm_response_id }
        }
        const call = { index, name: tool_call.name, arguments: tool_call.arguments, result: null, refusal: null }
        return this.#turns.called(this.#open.turn, call, [`action ${id}`, `call ${tool_call_id}`], () => false)
      }
      case 'ObservationEvent': {
        const { observation, tool_call_id, action_id } = event
        this.#turns.resulted(index, outcomeOf(observation), keysOf(tool_call_id, action_id), 'result')
        return
      }
      case 'AgentErrorEvent':
        this.#turns.resulted(index, outcome({ error: true }), keysOf(event.tool_call_id, null), 'error')
        return
      case 'UserRejectObservation': {
        const { tool_call_id, action_id, rejection_reason: reason, rejection_source: source } = event
        const call = this.#turns.resulted(index, outcome({ refused: true }), keysOf(tool_call_id, action_id), 'refusal')
        if (call !== null) call.refusal = { reason, source }
        return
      }
      default:
        return event satisfies never
    }
  }

  /** Messages of the service are left out: the service writes them again. */
  #message(index: number, { source, llm_message }: Extract<RecordedEvent, { kind: 'MessageEvent' }>): void {
    this.#open = source === 'agent' || source === 'user' ? null : this.#open
    if (source === 'user') this.#turns.addMessage(index, llm_message.content as MessageContent)
    else if (source === 'agent')
      this.#turns.answered(index, textOf(llm_message.content), llm_message.reasoning_content ?? null)
  }
}

/** An action's own id takes precedence: ids of calls may repeat. */
const keysOf = (toolCallId: string, actionId: string | null | undefined): string[] =>
  actionId === null || actionId === undefined ? [`call ${toolCallId}`] : [`action ${actionId}`]

const textOf = (content: readonly ContentPart[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')
