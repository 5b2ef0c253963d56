/** Milliseconds from a command to the moment by which its sender has surely read the answer. */
const ANSWER_READ_MS = 250

/**
 * Tells once more how a run ended that was over almost before it began. A client that waits for the end of its run listens
 * only after it has read the answer to its command, and that comes over another connection: told too early, it would wait on.
 * Source: agent-server-wire.md 2.4 and 11.2.
 */
export class Reminder {
  readonly #tell: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(tell: () => void) {
    this.#tell = tell
  }

  /** A run that was asked for at `askedAt` (`performance.now()`) is over; or there was nothing to run. */
  ended(askedAt: number): void {
    this.cancel()
    const left = askedAt + ANSWER_READ_MS - performance.now()
    if (left > 0) this.#timer = setTimeout(this.#tell, left).unref()
  }

  /** What comes now makes the old end uninteresting, or misleading. */
  cancel(): void {
    clearTimeout(this.#timer)
  }
}
