/** A stream that reconnects and resumes after the last item. */
import { CallError } from './errors.ts'
import { readFrames, type SseFrame } from './sse.ts'
import { backOffMs, sleep, type BackOff } from './wait.ts'

export type Follow<T> = {
  /** Opens the stream of everything after `after`. Rejects with a `CallError`. */
  open: (after: number, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>
  /** Reads a frame as an item; null for a frame without one. `seq` is the position of a stored item, null for a live one. */
  read: (frame: SseFrame) => { item: T; seq: number | null; isLast?: boolean } | null
  /** Position after which the stream begins. */
  after: number
  backOff: BackOff
  /** Milliseconds without a byte after which the connection counts as broken; the server writes more often. */
  silenceMs: number
  signal?: AbortSignal | undefined
}

/**
 * Yields items in the order of their positions, each position once, over as many connections as needed. Ends after the last item.
 * @throws CallError for a permanent refusal, such as 401 or 404; the signal's reason when it aborts.
 */
export async function* follow<T>({ open, read, after, backOff, silenceMs, signal }: Follow<T>): AsyncGenerator<T> {
  let failures = 0
  let newest = after
  for (;;) {
    signal?.throwIfAborted()
    const watchdog = new Watchdog(silenceMs, signal)
    let pauseMs: number | null = null
    try {
      const body = await open(newest, watchdog.signal)
      for await (const frame of readFrames(body, () => watchdog.reset())) {
        const found = read(frame)
        if (found === null) continue
        if (found.seq !== null) {
          // After a reconnect the server may repeat items; each is yielded once.
          if (found.seq <= newest) continue
          newest = found.seq
        }
        failures = 0
        watchdog.stop()
        yield found.item
        if (found.isLast === true) return
        watchdog.reset()
      }
    } catch (error) {
      signal?.throwIfAborted()
      // An unreadable frame stays unreadable; only failures of the connection are retried.
      if (!(error instanceof CallError && error.isPassing)) throw error
      pauseMs = error.retryAfterMs
    } finally {
      watchdog.close()
    }
    failures += 1
    await sleep(pauseMs ?? backOffMs(backOff, failures), signal)
  }
}

/** Aborts its signal after silence or with the caller's signal. The time in which the consumer does not read does not count. */
class Watchdog {
  readonly #controller = new AbortController()
  readonly #silenceMs: number
  readonly #outer: AbortSignal | undefined
  readonly #onOuter = () => this.#controller.abort(this.#outer?.reason)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(silenceMs: number, outer: AbortSignal | undefined) {
    this.#silenceMs = silenceMs
    this.#outer = outer
    outer?.addEventListener('abort', this.#onOuter, { once: true })
    this.reset()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new Error('the connection is silent')), this.#silenceMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onOuter)
  }
}
