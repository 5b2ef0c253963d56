import type { Draft, StoredEvent } from '@parley/protocol'
import type { Step } from '../agent.ts'

/** Stages around a step. A stage without drafts makes no commit. */
export type StepStages = {
  /** Runs before the step begins; its drafts are the first commit. */
  before?: () => Promise<readonly Draft[]>
  /** Changes the drafts of a commit before they are stored. */
  decorate?: (drafts: readonly Draft[]) => readonly Draft[]
  /** Drafts of another commit, which follows the one that stored these events. */
  after?: (stored: readonly StoredEvent[]) => readonly Draft[]
}

/** The step that `begin` opens, with stages around it. It is closed when the caller abandons this one. */
export async function* step(begin: () => Step, { before, decorate, after }: StepStages): Step {
  const first = (await before?.()) ?? []
  const inner = begin()
  let stored: readonly StoredEvent[] = []
  try {
    if (first.length > 0) yield first
    for (;;) {
      const { done, value } = await inner.next(stored)
      if (done === true) return
      stored = yield decorate?.(value) ?? value
      const following = after?.(stored) ?? []
      if (following.length > 0) yield following
    }
  } finally {
    await inner.return(undefined)
  }
}
