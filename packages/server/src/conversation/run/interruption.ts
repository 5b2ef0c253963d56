export type Interruption = 'interrupted' | 'draining' | 'deleted' | 'lost'

/** Why a run was cancelled. */
export class RunCancelled extends Error {
  readonly why: Interruption
  constructor(why: Interruption) {
    super(`the run was cancelled: ${why}`)
    this.name = 'RunCancelled'
    this.why = why
  }
}

/** Whether a signal was aborted by a person who wants the conversation to go on later. */
export const isInterruption = (reason: unknown): boolean =>
  reason instanceof RunCancelled && reason.why === 'interrupted'
