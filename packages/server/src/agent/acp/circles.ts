/** Whether an external agent goes round in circles within one prompt. Source: agent-core.md 3.6 (patterns 1 and 2), F70. */
import { createHash } from 'node:crypto'
import type { ToolCall } from './tool-calls.ts'

/** Equal calls in a row, with equal results. */
const SAME_RESULT = 4
const SAME_FAILURE = 3

export class Circles {
  #key = ''
  #times = 0

  /** Takes a call that has ended; what to say when it is one too many of its kind, otherwise null. */
  take({ title, kind, status, rawInput, rawOutput, content }: ToolCall): string | null {
    // Without its arguments a call cannot be told from another one.
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
