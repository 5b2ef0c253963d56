/** Detects that an external agent repeats the same call within one prompt. Source: agent-core.md 3.6, F70. */
import { createHash } from 'node:crypto'
import type { ToolCall } from '../tool-calls.ts'

/** Number of consecutive equal calls with equal results, or with failures. */
const SAME_RESULT = 4
const SAME_FAILURE = 3

export class RepetitionDetector {
  #key = ''
  #times = 0

  /** Adds a call that has ended. Returns an explanation when it is a repetition, otherwise null. */
  take({ title, kind, status, rawInput, rawOutput, content }: ToolCall): string | null {
    // Calls without arguments cannot be compared.
    if (rawInput === null) {
      this.#times = 0
      return null
    }
    const hasFailed = status === 'failed'
    const result = hasFailed ? null : [rawOutput, content]
    const key = createHash('sha256')
      .update(JSON.stringify([kind, rawInput, status, result]))
      .digest('base64')
    this.#times = key === this.#key ? this.#times + 1 : 1
    this.#key = key
    if (this.#times < (hasFailed ? SAME_FAILURE : SAME_RESULT)) return null
    const how = hasFailed ? 'and it failed each time' : 'with the same result'
    return `The agent made the same call (${title}) ${this.#times} times in a row, ${how}. Send a message to help it on, or run it again to let it try further.`
  }
}
