/**
 * The live end of one conversation, shared by all its watchers: the newest events, and items that are never stored.
 *
 * Invariants
 *   C1. `latest` is the newest committed seq that this process knows; it only grows.
 *   C2. The tail is a dense run of seqs that ends at `latest`, bounded in bytes; older events are read from the store. It is empty
 *       without watchers, so that an unwatched conversation holds no events in memory.
 *   C3. Per watcher only a cursor and a bounded list of live items are kept.
 *   C4. A watcher that subscribes during an answer gets no piece of it before what has been written so far.
 */
import type { StoredEvent } from '@parley/protocol'
import type { WatchItem } from '../conversations.ts'
import { weight } from './weight.ts'

/** A live-only item and the seq that it follows. */
export type Live = { after: number; item: Exclude<WatchItem, { kind: 'event' }> }

/** Brings a new watcher to the place of an answer that is being written: calls `ready` once, with the answer so far if it can be shown. */
export type JoinAnswer = (ready: (partial: Live['item'] | null) => void) => void

export interface ChannelListener {
  committed(): void
  live(live: Live): void
  /** Nothing more comes: the watcher ends with `reason`. */
  ended(reason: Error): void
}

const MAX_TAIL_EVENTS = 512
/** Approximate limit; a conversation with huge events keeps fewer of them. */
const MAX_TAIL_BYTES = 4 * 1024 * 1024

export class Channel {
  readonly #listeners = new Set<ChannelListener>()
  readonly #followers = new Set<() => void>()
  readonly #tail: StoredEvent[] = []
  #tailBytes = 0
  #join: JoinAnswer | null = null
  /** Watchers that wait for the answer so far. */
  readonly #joining = new Set<ChannelListener>()
  latest: number

  constructor(latest: number) {
    this.latest = latest
  }

  /** Calls `wake` after each commit and at the end, without counting as a watcher. */
  follow(wake: () => void): () => void {
    this.#followers.add(wake)
    return () => this.#followers.delete(wake)
  }

  /** True without watchers and followers. */
  get isUnused(): boolean {
    return this.#listeners.size === 0 && this.#followers.size === 0
  }

  get watchers(): number {
    return this.#listeners.size
  }

  subscribe(listener: ChannelListener): () => void {
    this.#listeners.add(listener)
    if (this.#join !== null) this.#joinAnswer(listener, this.#join)
    return () => {
      this.#listeners.delete(listener)
      this.#joining.delete(listener)
      if (this.#listeners.size === 0) this.#empty()
    }
  }

  /** An answer is being written from now on; `join` is called for each new watcher until the returned function is. */
  begin(join: JoinAnswer): () => void {
    this.#join = join
    return () => {
      if (this.#join === join) this.#join = null
    }
  }

  #joinAnswer(listener: ChannelListener, join: JoinAnswer): void {
    this.#joining.add(listener)
    join((partial) => {
      if (!this.#joining.delete(listener) || partial === null) return
      listener.live({ after: this.latest, item: partial })
    })
  }

  commit(events: readonly StoredEvent[]): void {
    const [first] = events
    const last = events.at(-1)
    if (first === undefined || last === undefined) return
    if (first.seq !== this.latest + 1) this.#empty()
    this.latest = last.seq
    if (this.#listeners.size > 0) this.#keep(events)
    this.#wake()
  }

  /** The log has grown to `latest` without this channel: its watchers read the new events from the store. */
  advance(latest: number): void {
    if (latest <= this.latest) return
    this.#empty()
    this.latest = latest
    this.#wake()
  }

  /** Ends all watchers with `reason`, because the events come from another process now. */
  end(reason: Error): void {
    for (const listener of this.#listeners) listener.ended(reason)
    for (const wake of this.#followers) wake()
  }

  #wake(): void {
    for (const listener of this.#listeners) listener.committed()
    for (const wake of this.#followers) wake()
  }

  #empty(): void {
    this.#tail.length = 0
    this.#tailBytes = 0
  }

  #keep(events: readonly StoredEvent[]): void {
    for (const stored of events) {
      this.#tail.push(stored)
      this.#tailBytes += weight(stored)
    }
    let cut = 0
    while (
      this.#tail.length - cut > MAX_TAIL_EVENTS ||
      (this.#tailBytes > MAX_TAIL_BYTES && cut < this.#tail.length - 1)
    ) {
      this.#tailBytes -= weight(this.#tail[cut]!)
      cut += 1
    }
    if (cut > 0) this.#tail.splice(0, cut)
  }

  emit(item: Live['item']): void {
    const isPiece = item.kind === 'delta' || item.kind === 'tool_call'
    for (const listener of this.#listeners)
      if (!isPiece || !this.#joining.has(listener)) listener.live({ after: this.latest, item })
    if (item.kind === 'deleted') for (const wake of this.#followers) wake()
  }

  /** Returns the events after `seq` from the tail; null when the store has to be read. */
  since(seq: number): readonly StoredEvent[] | null {
    if (seq >= this.latest) return []
    const first = this.#tail[0]
    if (first === undefined || first.seq > seq + 1) return null
    return this.#tail.slice(seq + 1 - first.seq)
  }
}
