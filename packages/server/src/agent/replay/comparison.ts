import type { Divergence, TreeEvent } from '@parley/protocol'
import { differenceOf, outcomeOfEvent } from './outcome.ts'
import type { Moves } from './moves.ts'
import type { RecordedCall, Recording } from './recording.ts'
import { indexOf } from './replay-model.ts'

/** Compares the results of a recording with those of the conversation that replays it. */
export class Comparison {
  readonly #calls: ReadonlyMap<number, RecordedCall>
  readonly #moves: Moves

  constructor({ turns }: Recording, moves: Moves) {
    this.#calls = new Map(
      turns.flatMap((turn) => (turn.by === 'user' ? [] : turn.calls.map((call) => [call.index, call]))),
    )
    this.#moves = moves
  }

  /** The recorded call at an index; undefined when there is none. */
  callAt(index: number | null): RecordedCall | undefined {
    return index === null ? undefined : this.#calls.get(index)
  }

  /** The divergences of these results, in order; those at the indices in `noted` are left out. */
  of(results: readonly TreeEvent[], noted: ReadonlySet<number>): Divergence[] {
    return results.flatMap((event): Divergence[] => {
      const actual = outcomeOfEvent(event)
      if (actual === null || !('tool_call_id' in event)) return []
      const result = this.callAt(indexOf(event.tool_call_id))?.result ?? null
      if (result === null || noted.has(result.index)) return []
      const difference = differenceOf(result.outcome, actual, this.#moves)
      return difference === null ? [] : [{ index: result.index, ...difference }]
    })
  }
}
