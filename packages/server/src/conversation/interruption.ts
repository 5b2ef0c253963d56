export type Interruption = 'interrupted' | 'draining' | 'deleted' | 'lost'

/** The reason why a run was cancelled. */
export class RunCancelled extends Error {
  readonly why: Interruption
  constructor(why: Interruption, cause?: unknown) {
    super(`the run was cancelled: ${why}`, { cause })
    this.name = 'RunCancelled'
    this.why = why
  }
}

/** True when a person interrupted the run, so that the conversation remains usable. */
export const isInterruption = (reason: unknown): boolean =>
  reason instanceof RunCancelled && reason.why === 'interrupted'
