/** A model that gives recorded answers while there are any, and asks the real one afterwards. */
import type { Llm, LlmAnswer, LlmDelta, LlmRequest } from '../../llm/index.ts'
import { nothingSpent } from '../native/spending.ts'
import { moveInJson, type Moves, type RecordedCall, type RecordedTurn } from './recording.ts'

export type RecordedAnswer = Extract<RecordedTurn, { by: 'agent' }>

const PREFIX = 'replay_'

/** Names a recorded call in the log, so that its result is found again after a restart. */
export const callId = ({ index }: RecordedCall): string => `${PREFIX}${index}`

/** The place in the recording that a call of the log was made from; null for any other call. */
export function placeOf(toolCallId: string): number | null {
  const found = /^replay_(\d+)$/.exec(toolCallId)
  return found === null ? null : Number(found[1])
}

/** Stands in the log for arguments that were no JSON (`agent/native/tool-call.ts`); played as what it was. */
const UNPARSEABLE = '{"unparseable_arguments":true}'

export class ReplayModel implements Llm {
  readonly model: string
  readonly usageId: string
  readonly #live: Llm
  readonly #moves: Moves
  #next: RecordedAnswer | null = null

  constructor(live: Llm, moves: Moves) {
    this.model = live.model
    this.usageId = live.usageId
    this.#live = live
    this.#moves = moves
  }

  /** Whether the next answer is a recorded one. */
  get isPlaying(): boolean {
    return this.#next !== null
  }

  /** The answer to the next question; null: the real model's. */
  cue(answer: RecordedAnswer | null): void {
    this.#next = answer
  }

  async complete(request: LlmRequest, onDelta: (delta: LlmDelta) => void, signal: AbortSignal): Promise<LlmAnswer> {
    signal.throwIfAborted()
    return this.#next === null ? this.#live.complete(request, onDelta, signal) : this.#play(this.#next, request)
  }

  /** Signed thoughts are left out: their provider takes them from the model alone that had them. */
  #play(answer: RecordedAnswer, { tools }: LlmRequest): LlmAnswer {
    const known = new Set(tools.map(({ name }) => name))
    const toolCalls = answer.calls.map((call) => {
      const meant = known.has(call.name) ? call : (call.fallback ?? call)
      const args = meant.arguments === UNPARSEABLE ? '{' : moveInJson(meant.arguments, this.#moves)
      return { id: callId(call), name: meant.name, arguments: args }
    })
    return {
      responseId: `${PREFIX}${answer.index}`,
      text: answer.text,
      reasoning: answer.reasoning,
      thinkingBlocks: [],
      toolCalls,
      finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
      usage: nothingSpent(this.model),
    }
  }
}
