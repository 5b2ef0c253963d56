/** Milliseconds after a command by which its sender has read the response. */
const ANSWER_READ_MS = 250

/**
 * Repeats the end of a run that ended almost at once. A client that waits for the end of its run listens only after it has read
 * the response to its command, which arrives over another connection: it would miss an end that was sent too early.
 * Source: agent-server-wire.md 2.4, 11.
 */
export class Reminder {
  readonly #notify: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(notify: () => void) {
    this.#notify = notify
  }

  /** Called when a run that was requested at `askedAt` (`performance.now()`) is over, or when there was nothing to run. */
  ended(askedAt: number): void {
    this.cancel()
    const left = askedAt + ANSWER_READ_MS - performance.now()
    if (left > 0) this.#timer = setTimeout(this.#notify, left).unref()
  }

  /** Cancels the reminder: a newer command makes the old end misleading. */
  cancel(): void {
    clearTimeout(this.#timer)
  }
}
