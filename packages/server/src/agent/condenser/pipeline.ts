import type { Draft } from '@parley/protocol'
import type { Condenser, Situation, Verdict } from './condenser.ts'

/** Asks several condensers in order, until one shortens the view. Source: agent-core.md 3.1. */
export class PipelineOfCondensers implements Condenser {
  readonly handlesRequests: boolean
  readonly #parts: readonly Condenser[]

  constructor(parts: readonly Condenser[]) {
    this.#parts = parts
    this.handlesRequests = parts.some((part) => part.handlesRequests)
  }

  async condense(situation: Situation, signal: AbortSignal): Promise<Verdict> {
    const spent: Draft[] = []
    let last: Verdict = { kind: 'keep', spent }
    for (const part of this.#parts) {
      const verdict = await part.condense(situation, signal)
      spent.push(...verdict.spent)
      if (verdict.kind === 'condensed') return { ...verdict, spent }
      // A later part may still do what an earlier one could not.
      if (verdict.kind === 'failed') last = { ...verdict, spent }
    }
    return last
  }
}
