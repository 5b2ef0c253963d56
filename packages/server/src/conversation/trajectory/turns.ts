import type { ComparedOutcome, RecordedCall, RecordedTurn } from '../../agent/index.ts'
import type { MessageContent } from '../record/record.ts'

export type AgentTurn = Extract<RecordedTurn, { by: 'agent' }>
/** A call whose answer may follow. */
type Waiting = { call: RecordedCall; keys: readonly string[]; answers: (kind: string) => boolean }

/** Assembles turns, and assigns each result to its call. */
export class Turns {
  readonly #turns: RecordedTurn[] = []
  #waiting: Waiting[] = []

  list(): RecordedTurn[] {
    return this.#turns
  }

  addMessage(index: number, content: MessageContent): void {
    this.#turns.push({ by: 'user', index, content })
  }

  answered(index: number, text: string, reasoning: string | null): AgentTurn {
    const turn: AgentTurn = { by: 'agent', index, text, reasoning, calls: [] }
    this.#turns.push(turn)
    return turn
  }

  /** `keys`: ids under which a result may refer to it; `answers`: kinds of results that fit it without an id. */
  called(turn: AgentTurn, call: RecordedCall, keys: readonly string[], answers: (kind: string) => boolean): void {
    turn.calls.push(call)
    this.#waiting.push({ call, keys, answers })
  }

  /** Returns the call that one of `keys` names, or the oldest open one that such a result fits. */
  resulted(index: number, outcome: ComparedOutcome, keys: readonly string[], kind: string): RecordedCall | null {
    const named = this.#waiting.find((waiting) => waiting.keys.some((key) => keys.includes(key)))
    const found = named ?? (keys.length > 0 ? undefined : this.#waiting.find(({ answers }) => answers(kind)))
    if (found === undefined) return null
    this.#waiting = this.#waiting.filter((waiting) => waiting !== found)
    found.call.result = { index, outcome }
    return found.call
  }
}
