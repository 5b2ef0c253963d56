/** Records of what calls cost, stored with the next thing that a step stores. */
import type { Draft, StoredEvent } from '@parley/protocol'
import type { Step } from '../agent.ts'

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
