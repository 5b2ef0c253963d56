/** Records of what calls cost, stored with the next thing that a step stores. */
import type { Draft, StoredEvent } from '@parley/protocol'
import type { LlmUsage } from '../../llm/index.ts'
import type { Step } from '../agent.ts'

/** What an answer costs that no model was asked for. */
export const nothingSpent = (model: string): LlmUsage => ({
  tokens: {
    model,
    prompt_tokens: 0,
    completion_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    context_window: 0,
    per_turn_token: 0,
  },
  costUsd: 0,
  latency: 0,
})

/** The drafts of a step, each commit led by what has been spent until then. */
export async function* withSpending(step: Step, spent: Draft[]): Step {
  let stored: readonly StoredEvent[] = []
  try {
    for (;;) {
      const { done, value } = await step.next(stored)
      if (done === true) return
      stored = yield [...spent.splice(0), ...value]
    }
  } finally {
    await step.return(undefined)
  }
}
