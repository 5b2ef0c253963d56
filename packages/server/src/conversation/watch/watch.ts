import type { StoredEvent } from '@parley/protocol'
import type { Channel, ChannelListener, Live } from './channel.ts'
import type { Watcher, WatchItem } from '../conversations.ts'
import { weight } from './weight.ts'

const PAGE = 100
/** Deltas kept for a watcher that does not pull. Deltas are live only, so that later ones are dropped. */
const MAX_DELTAS = 1000
/** Characters of output kept likewise; the place of a later piece shows what is missing. */
const MAX_OUTPUT_CHARS = 256 * 1024
/** Items about an answer that is being written: without meaning once the log has grown. */
const PIECES: ReadonlySet<WatchItem['kind']> = new Set(['delta', 'tool_call', 'partial'])
/** Likewise: they are large, and files contain them. */
const MAX_COMPLETIONS = 4

export type WatchSource = {
  channel: Channel
  /** Returns stored events from `seq` on, ascending, at most `limit`. */
  page: (from: number, limit: number) => Promise<StoredEvent[]>
  /** Called once when the watcher ends. */
  onClose: () => void
}

/** Yields stored events after a seq, then live ones, without gaps or duplicates (see `Watcher`). `first` is delivered first. */
export function watch(source: WatchSource, after: number, first: WatchItem, signal: AbortSignal): Watcher {
  return new LogWatcher(source, after, first, signal)
}

class LogWatcher implements Watcher, ChannelListener {
  readonly #source: WatchSource
  readonly #signal: AbortSignal
  readonly #unsubscribe: () => void
  #live: Live[]
  #cursor: number
  #outputChars = 0
  #wake: (() => void) | null = null
  #isClosed = false
  #end: Error | null = null
  /** Set by a wake-up while the watcher is not waiting, so that none is lost. */
  #hasNews = false

  constructor(source: WatchSource, after: number, first: WatchItem, signal: AbortSignal) {
    this.#source = source
    this.#cursor = after
    this.#signal = signal
    this.#live = first.kind === 'event' ? [] : [{ after: -1, item: first }]
    this.#unsubscribe = source.channel.subscribe(this)
  }

  committed(): void {
    this.#hasNews = true
    this.#wake?.()
  }

  live(live: Live): void {
    if (PIECES.has(live.item.kind)) {
      if (this.#live.length >= MAX_DELTAS) return
    } else if (live.item.kind === 'output') {
      if (this.#outputChars > MAX_OUTPUT_CHARS) return
      this.#outputChars += live.item.text.length
    } else if (live.item.kind === 'completion') {
      if (this.#live.filter(({ item }) => item.kind === 'completion').length >= MAX_COMPLETIONS) return
    } else if (live.item.kind === 'snapshot') {
      // A slow reader needs only the newest state; the very first one is never replaced.
      this.#live = this.#live.filter(({ after, item }) => item.kind !== 'snapshot' || after === -1)
    }
    this.#live.push(live)
    this.#hasNews = true
    this.#wake?.()
  }

  ended(reason: Error): void {
    this.#end = reason
    this.#hasNews = true
    this.#wake?.()
  }

  async next(maxBytes = 256 * 1024): Promise<WatchItem[]> {
    for (;;) {
      this.#signal.throwIfAborted()
      this.#hasNews = false
      const items = await this.#take(maxBytes)
      if (items.length > 0) return items
      if (this.#end !== null) throw this.#end
      if (!this.#hasNews) await this.#waiting()
    }
  }

  async #take(maxBytes: number): Promise<WatchItem[]> {
    const items: WatchItem[] = []
    if (this.#live[0]?.after === -1) items.push(this.#live.shift()!.item)
    const { channel } = this.#source
    const events = channel.since(this.#cursor) ?? (await this.#source.page(this.#cursor + 1, PAGE))
    let bytes = 0
    for (const stored of events) {
      this.#takeLive(items)
      if (bytes > maxBytes) return items
      items.push({ kind: 'event', ...stored })
      bytes += weight(stored)
      this.#cursor = stored.seq
    }
    this.#takeLive(items)
    return items
  }

  /** Returns live items whose position in the log is reached; deltas that come too late are left out. */
  #takeLive(items: WatchItem[]): void {
    const rest: Live[] = []
    this.#outputChars = 0
    for (const live of this.#live) {
      if (live.after > this.#cursor) rest.push(live)
      else if (!PIECES.has(live.item.kind) || live.after === this.#cursor) items.push(live.item)
    }
    this.#live = rest
    for (const { item } of rest) if (item.kind === 'output') this.#outputChars += item.text.length
  }

  #waiting(): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#wake = null
        this.#signal.removeEventListener('abort', onAbort)
        resolve()
      }
      const onAbort = () => {
        this.#wake = null
        reject(this.#signal.reason)
      }
      this.#wake = done
      this.#signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#unsubscribe()
    this.#live = []
    this.#source.onClose()
  }
}
