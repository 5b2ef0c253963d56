/** What has to be looked up after an agent was given another model, before that model is asked. */
import type { Step } from '../agent.ts'

export type ChangedModel = {
  /** The model is another one now. */
  note(): void
  /** Whether something has to be looked up. */
  isDue(): boolean
  /** Looks it up, if it is due; tried again the next time when it fails. */
  settle(): Promise<void>
}

/** @param lookUp may be called twice at the same time, and again when the model is changed meanwhile */
export function changedModel(lookUp: () => Promise<void>): ChangedModel {
  let changes = 0
  let settled = 0
  return {
    note: () => {
      changes += 1
    },
    isDue: () => settled < changes,
    async settle() {
      while (settled < changes) {
        const newest = changes
        await lookUp()
        settled = Math.max(settled, newest)
      }
    },
  }
}

/** A step that begins when everything is looked up; at once where nothing is due. */
export const readied = (changed: ChangedModel, begin: () => Step): Step =>
  changed.isDue() ? afterwards(changed, begin) : begin()

async function* afterwards(changed: ChangedModel, begin: () => Step): Step {
  await changed.settle()
  yield* begin()
}
