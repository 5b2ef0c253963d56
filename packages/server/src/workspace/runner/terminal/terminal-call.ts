/** A call of a terminal that has begun: the requests that wait for it, and the limit of their waiting. */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { TerminalSpec } from '../ipc/protocol.ts'
import type { Reply } from '../ipc/reply.ts'

/** Longest delay of a timer, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Milliseconds of output that are shown at once. */
const LIVE_MS = 25
/** Characters of output shown before the end of a call; the rest comes with its result. */
const MAX_LIVE_CHARS = 8 * 1024 * 1024

export type TerminalCallDeps = {
  /** Time of the newest output of the shell, as `performance.now()` gives it. */
  lastOutputAt: () => number
  /** Called when the limit of the call has passed while a request waits. The command continues. */
  onLimit: (limit: 'silence' | 'timeout') => void
}

/**
 * The hard limit counts from the begin of the call. Without one, the limit of silence counts from the newest output, or from the newest
 * request: after a restart of the server it starts again. While no request waits, no limit passes.
 */
export class TerminalCall {
  readonly spec: TerminalSpec
  readonly #deps: TerminalCallDeps
  readonly #waiting = new Set<Reply>()
  readonly #begunAt = performance.now()
  #attendedAt = this.#begunAt
  #timer: NodeJS.Timeout | null = null
  #live = ''
  #liveChars = 0
  #liveTimer: NodeJS.Timeout | undefined

  constructor(spec: TerminalSpec, deps: TerminalCallDeps) {
    this.spec = spec
    this.#deps = deps
  }

  /** The requests that wait for the call. */
  get waiting(): ReadonlySet<Reply> {
    return this.#waiting
  }

  /** Output that is shown to the requests before the call ends; some lines at once. */
  show(text: string): void {
    if (this.spec.isLive !== true || this.#liveChars > MAX_LIVE_CHARS) return
    this.#liveChars += text.length
    this.#live += text
    this.#liveTimer ??= setTimeout(() => this.#flush(), LIVE_MS)
  }

  #flush(): void {
    clearTimeout(this.#liveTimer)
    this.#liveTimer = undefined
    const text = this.#live
    this.#live = ''
    if (text !== '') for (const reply of this.#waiting) reply.live(text)
  }

  attend(reply: Reply): void {
    this.#waiting.add(reply)
    this.#attendedAt = performance.now()
    this.#arm()
  }

  leave(reply: Reply): void {
    if (this.#waiting.delete(reply)) this.#arm()
  }

  /** Ends the waiting. Returns the requests that are to be answered. */
  end(): Reply[] {
    this.#flush()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    this.#arm()
    return waiting
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#waiting.size === 0) return
    const dueMs = Math.max(0, Math.min(this.#remainingMs(), MAX_DELAY_MS))
    this.#timer = setTimeout(() => void this.#due(), dueMs)
  }

  #remainingMs(): number {
    const { timeoutMs, noChangeMs } = this.spec
    const since = timeoutMs === null ? Math.max(this.#attendedAt, this.#deps.lastOutputAt()) : this.#begunAt
    return since + (timeoutMs ?? noChangeMs) - performance.now()
  }

  async #due(): Promise<void> {
    // After the machine was suspended, the timer fires before output that arrived meanwhile is read, so that is read first.
    await nextTick()
    if (this.#waiting.size === 0) return
    if (this.#remainingMs() > 0) return this.#arm()
    this.#deps.onLimit(this.spec.timeoutMs === null ? 'silence' : 'timeout')
  }
}
