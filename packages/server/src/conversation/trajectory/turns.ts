import type { Outcome, RecordedCall, RecordedTurn } from '../../agent/index.ts'
import type { MessageContent } from '../record/record.ts'

export type AgentTurn = Extract<RecordedTurn, { by: 'agent' }>
/** A call whose answer may still come. */
type Waiting = { call: RecordedCall; keys: readonly string[]; answers: (kind: string) => boolean }

/** Puts turns together, and each result beside its call. */
export class Turns {
  readonly #turns: RecordedTurn[] = []
  #waiting: Waiting[] = []

  list(): RecordedTurn[] {
    return this.#turns
  }

  said(index: number, content: MessageContent): void {
    this.#turns.push({ by: 'user', index, content })
  }

  answered(index: number, text: string, reasoning: string | null): AgentTurn {
    const turn: AgentTurn = { by: 'agent', index, text, reasoning, calls: [] }
    this.#turns.push(turn)
    return turn
  }

  /** `keys`: names that a result may call it by; `answers`: kinds of results that fit it where none is called. */
  called(turn: AgentTurn, call: RecordedCall, keys: readonly string[], answers: (kind: string) => boolean): void {
    turn.calls.push(call)
    this.#waiting.push({ call, keys, answers })
  }

  /** The result of the call that one of `keys` names, or of the oldest open one that such a result fits. */
  resulted(index: number, outcome: Outcome, keys: readonly string[], kind: string): RecordedCall | null {
    const named = this.#waiting.find((waiting) => waiting.keys.some((key) => keys.includes(key)))
    const found = named ?? (keys.length > 0 ? undefined : this.#waiting.find(({ answers }) => answers(kind)))
    if (found === undefined) return null
    this.#waiting = this.#waiting.filter((waiting) => waiting !== found)
    found.call.result = { index, outcome }
    return found.call
  }
}
