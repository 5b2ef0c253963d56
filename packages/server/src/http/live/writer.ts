/**
 * From a watcher to one connection, at the connection's own pace.
 *
 * Invariants
 *   W1. Nothing is pulled while the connection holds more than it has taken; what it missed stays in the store, not in memory.
 *   W2. At most one write per connection and turn of the event loop, however many events that turn brings: the write dominates.
 *   W3. A connection that takes nothing for `stallMs` is cut off; it can come back by seq.
 */
import type { Watcher, WatchItem } from '../../conversation/index.ts'

/** Bytes of events asked for at once. */
const BATCH_BYTES = 256 * 1024
/** Bytes that a connection may leave untaken before pulling stops. Together with one batch this stays under 4 MiB. */
const HIGH_WATER_BYTES = 2 * 1024 * 1024

export interface Sink {
  /** Hands bytes to the network; `taken` is called once they have left this process (or never, when the connection ends). */
  write(bytes: Buffer, taken: () => void): void
}

/** What goes over one connection: prebuilt bytes per item. Empty for what this connection does not carry. */
export type Encode = (item: Exclude<WatchItem, { kind: 'deleted' }>) => readonly Buffer[]

export class Writer {
  readonly #sink: Sink
  #untaken = 0
  #waiting: (() => void) | undefined
  #silentSince: number | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Milliseconds since the connection last took anything, while it holds something; 0 when it holds nothing. */
  stalledMs(now: number): number {
    return this.#silentSince === undefined ? 0 : now - this.#silentSince
  }

  /** Bytes that the connection has been given and has not taken yet. */
  get untakenBytes(): number {
    return this.#untaken
  }

  /** Resolves when the connection holds little enough to be given more; rejects with the signal's reason. */
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
      if (this.#untaken <= HIGH_WATER_BYTES) this.#waiting?.()
    })
  }

  /**
   * Writes what `watcher` yields until the conversation is deleted.
   * Rejects with the signal's reason when the connection ends, or with what the watcher failed with.
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
    if (this.#untaken <= HIGH_WATER_BYTES) return
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = () => reject(signal.reason as Error)
    this.#waiting = resolve
    signal.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      this.#waiting = undefined
      signal.removeEventListener('abort', abort)
    }
  }
}

let turn: Promise<void> | undefined

/** Resolves in the next turn of the event loop; everyone who waits in one turn shares one callback. */
function nextTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
