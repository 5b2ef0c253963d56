/**
 * Writer from a watcher to one connection, at the pace of the connection.
 *
 * Invariants
 *   W1. Nothing is pulled while the connection holds unsent bytes above the limit; the events stay in the store, not in memory.
 *   W2. At most one write per connection and turn of the event loop, for any number of events: the write dominates the cost.
 *   W3. A connection that accepts nothing for `stallMs` is ended; it can resume by `seq`.
 */
import type { Watcher, WatchItem } from '../../conversation/index.ts'

/** Bytes of events requested at once. */
const BATCH_BYTES = 256 * 1024
/** Unsent bytes above which pulling stops. With one batch more, this stays under 4 MiB. */
const HIGH_WATER_BYTES = 2 * 1024 * 1024

export interface Sink {
  /** Passes bytes to the network; calls `taken` once they have left this process, or never when the connection ends. */
  write(bytes: Buffer, taken: () => void): void
}

/** The frames of one connection: encoded bytes per item; empty for items without a frame. */
export type Encode = (item: Exclude<WatchItem, { kind: 'deleted' }>) => readonly Buffer[]

export class Writer {
  readonly #sink: Sink
  #untaken = 0
  readonly #waiting = new Set<() => void>()
  #silentSince: number | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Milliseconds since the connection last accepted bytes, while some are pending; otherwise 0. */
  stalledMs(now: number): number {
    return this.#silentSince === undefined ? 0 : now - this.#silentSince
  }

  /** Bytes given to the connection and not yet sent. */
  get untakenBytes(): number {
    return this.#untaken
  }

  /** False while the unsent bytes are above the limit. */
  get hasRoom(): boolean {
    return this.#untaken <= HIGH_WATER_BYTES
  }

  /** Resolves when the unsent bytes are below the limit; rejects with the signal's reason. */
  room(signal: AbortSignal): Promise<void> {
    return this.#roomFor(signal)
  }

  /** Writes `buffers` as one. */
  write(buffers: readonly Buffer[]): void {
    const bytes = buffers.length === 1 ? buffers[0] : Buffer.concat(buffers)
    if (bytes === undefined || bytes.length === 0) return
    this.#untaken += bytes.length
    this.#silentSince ??= Date.now()
    this.#sink.write(bytes, () => {
      this.#untaken -= bytes.length
      this.#silentSince = this.#untaken === 0 ? undefined : Date.now()
      if (this.hasRoom) for (const proceed of this.#waiting) proceed()
    })
  }

  /**
   * Writes the items of `watcher` until the conversation is deleted.
   * Rejects with the signal's reason when the connection ends, or with the error of the watcher.
   */
  async pump(watcher: Watcher, encode: Encode, signal: AbortSignal): Promise<'deleted'> {
    for (;;) {
      const items = await watcher.next(BATCH_BYTES)
      signal.throwIfAborted()
      const buffers: Buffer[] = []
      for (const item of items) {
        if (item.kind === 'deleted') {
          this.write(buffers)
          return 'deleted'
        }
        for (const bytes of encode(item)) buffers.push(bytes)
      }
      this.write(buffers)
      await this.#roomFor(signal)
      await nextTurn()
    }
  }

  async #roomFor(signal: AbortSignal): Promise<void> {
    if (this.hasRoom) return
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => reject(signal.reason as Error)
    this.#waiting.add(resolve)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      this.#waiting.delete(resolve)
      signal.removeEventListener('abort', abort)
    }
  }
}

let turn: Promise<void> | undefined

/** Resolves in the next turn of the event loop; all waiters of one turn share one callback. */
function nextTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
