/** Returns the memory of a burst of work to the operating system. Source: docs/operations.md, Memory. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const MIB = 1024 * 1024
/** Time in milliseconds without any change of a conversation after which the server rests. */
const REST_MS = 5_000
/** Growth of resident memory in bytes from which a collection is worth its time. */
const WORTH_BYTES = 16 * MIB

type Collect = (options: { type: 'major'; flavor: 'last-resort' }) => void

/**
 * The engine of JavaScript collects when it allocates: a server that has become idle keeps what the last minutes left behind, and
 * the young generation that they needed. A rest is the one time at which a full collection, of some 100 ms, delays no request.
 */
export class GarbageCollection {
  readonly #isAtRest: () => boolean
  readonly #timer: NodeJS.Timeout
  #collect: Collect | undefined
  /** Resident memory in bytes after the last collection, or at the start. */
  #resident = process.memoryUsage.rss()

  /** @param isAtRest true when no conversation is active */
  constructor(isAtRest: () => boolean) {
    this.#isAtRest = isAtRest
    this.#timer = setTimeout(() => this.#rested(), REST_MS).unref()
  }

  /** Notes a change: the rest has not begun. */
  changed(): void {
    this.#timer.refresh()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #rested(): void {
    if (!this.#isAtRest() || process.memoryUsage.rss() - this.#resident < WORTH_BYTES) return
    this.#collect ??= collector()
    // This flavor alone also unmaps the pages that it frees.
    this.#collect({ type: 'major', flavor: 'last-resort' })
    this.#resident = process.memoryUsage.rss()
  }
}

function collector(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}
