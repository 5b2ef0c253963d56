/** Look-ups that a model switch makes necessary before the new model is asked. */
export type ChangedModel = {
  /** Records that the model was switched. */
  note(): void
  /** Runs the look-up if one is due. A failed look-up stays due. */
  settle(): Promise<void>
}

/** @param lookUp may run twice at the same time, and again when the model is switched meanwhile */
export function changedModel(lookUp: () => Promise<void>): ChangedModel {
  let switches = 0
  let settled = 0
  return {
    note: () => {
      switches += 1
    },
    async settle() {
      while (settled < switches) {
        const newest = switches
        await lookUp()
        settled = Math.max(settled, newest)
      }
    },
  }
}
