/** How long an action of the browser may take, from how the ones before it went. Source: agent-core.md 8.10. */

const LIMIT_MS = 300_000
/** After so many time-outs in a row the next action gets little time; one more, and the browser is started anew. */
const SUSPICIOUS = 2
const SUSPICIOUS_LIMIT_MS = 30_000

export class Patience {
  #timeouts = 0

  /** Milliseconds for the next action. */
  get limitMs(): number {
    return this.#timeouts < SUSPICIOUS ? LIMIT_MS : SUSPICIOUS_LIMIT_MS
  }

  /** An action has ended, well or with an error of its own. */
  ended(): void {
    this.#timeouts = 0
  }

  /** An action has not ended. True: the browser has to be started anew. */
  timedOut(): boolean {
    this.#timeouts++
    if (this.#timeouts <= SUSPICIOUS) return false
    this.#timeouts = 0
    return true
  }
}
