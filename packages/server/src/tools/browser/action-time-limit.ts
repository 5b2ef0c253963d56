/** Time limit of the next browser action, from the outcome of the ones before it. Source: agent-core.md 8.10. */

const LIMIT_MS = 300_000
/** Timeouts in a row after which the next action gets less time; one more, and the browser is restarted. */
const SUSPICIOUS = 2
const SUSPICIOUS_LIMIT_MS = 30_000

export class ActionTimeLimit {
  #timeouts = 0

  /** Milliseconds for the next action. */
  get limitMs(): number {
    return this.#timeouts < SUSPICIOUS ? LIMIT_MS : SUSPICIOUS_LIMIT_MS
  }

  /** Reports that an action ended, successfully or with an error of its own. */
  ended(): void {
    this.#timeouts = 0
  }

  /** Reports that an action timed out. Returns true when the browser must be restarted. */
  timedOut(): boolean {
    this.#timeouts++
    if (this.#timeouts <= SUSPICIOUS) return false
    this.#timeouts = 0
    return true
  }
}
