import type { Draft } from '@parley/protocol'
import type { Condenser, CondenserInput, CondenserResult } from './condenser.ts'

/** Asks several condensers in order, until one condenses the view. Source: agent-core.md 3.1. */
export class PipelineOfCondensers implements Condenser {
  readonly handlesRequests: boolean
  readonly #parts: readonly Condenser[]

  constructor(parts: readonly Condenser[]) {
    this.#parts = parts
    this.handlesRequests = parts.some((part) => part.handlesRequests)
  }

  async condense(input: CondenserInput, signal: AbortSignal): Promise<CondenserResult> {
    const spent: Draft[] = []
    let last: CondenserResult = { kind: 'keep', spent }
    for (const part of this.#parts) {
      const result = await part.condense(input, signal)
      spent.push(...result.spent)
      if (result.kind === 'condensed') return { ...result, spent }
      // A later condenser may succeed where an earlier one failed.
      if (result.kind === 'failed') last = { ...result, spent }
    }
    return last
  }
}
