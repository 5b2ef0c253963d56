import type { Divergence, TreeEvent } from '@parley/protocol'
import { differ, outcomeOfEvent } from './outcome.ts'
import type { Moves, RecordedCall, Recording } from './recording.ts'
import { placeOf } from './replay-model.ts'

/** The results of a recording, against those of the conversation that plays it. */
export class Comparison {
  readonly #calls: ReadonlyMap<number, RecordedCall>
  readonly #moves: Moves

  constructor({ turns }: Recording, moves: Moves) {
    this.#calls = new Map(
      turns.flatMap((turn) => (turn.by === 'user' ? [] : turn.calls.map((call) => [call.index, call]))),
    )
    this.#moves = moves
  }

  /** The recorded call at a place; undefined when there is none. */
  callAt(place: number | null): RecordedCall | undefined {
    return place === null ? undefined : this.#calls.get(place)
  }

  /** What differs in these answers, in their order; `noted` are places that need no second word. */
  of(answers: readonly TreeEvent[], noted: ReadonlySet<number>): Divergence[] {
    return answers.flatMap((event): Divergence[] => {
      const actual = outcomeOfEvent(event)
      if (actual === null || !('tool_call_id' in event)) return []
      const result = this.callAt(placeOf(event.tool_call_id))?.result ?? null
      if (result === null || noted.has(result.index)) return []
      const found = differ(result.outcome, actual, this.#moves)
      return found === null ? [] : [{ index: result.index, ...found }]
    })
  }
}
