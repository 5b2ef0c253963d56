/** A stream that comes back by itself and goes on where it was. */
import { CallError } from './errors.ts'
import { readFrames, type SseFrame } from './sse.ts'
import { backOffMs, sleep, type BackOff } from './wait.ts'

export type Follow<T> = {
  /** Opens the stream of everything after `after`. Rejects with a `CallError`. */
  open: (after: number, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>
  /** A frame as an item; null for one that says nothing. `seq` is the place of a stored item, null for one that is live only. */
  read: (frame: SseFrame) => { item: T; seq: number | null; isLast?: boolean } | null
  /** The newest place that is known already. */
  after: number
  backOff: BackOff
  /** Milliseconds without a single byte after which the connection counts as dead; the server writes something more often. */
  silenceMs: number
  signal?: AbortSignal | undefined
}

/**
 * Items in the order of their places, each place once, over as many connections as it takes. Ends after an item that is the last.
 * @throws CallError for a refusal that will not pass, such as 401 or 404; the signal's reason when it aborts.
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
          // A server that repeats itself after a reconnect is not an error; showing it twice would be one.
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
      // What did come but cannot be understood stays so; only the connection itself is worth another try.
      if (!(error instanceof CallError && error.isPassing)) throw error
      pauseMs = error.retryAfterMs
    } finally {
      watchdog.close()
    }
    failures += 1
    await sleep(pauseMs ?? backOffMs(backOff, failures), signal)
  }
}

/** Aborts its signal after silence, or together with the caller's. Does not count the time in which nobody reads. */
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
