/**
 * The live end of one conversation, shared by all its watchers: the newest events, and items that are never stored.
 *
 * Invariants
 *   C1. `latest` is the newest committed seq that this process knows; it only grows.
 *   C2. The tail is a dense run of seqs that ends at `latest`, bounded in bytes; older events are read from the store. It is empty
 *       without watchers, so that an unwatched conversation holds no events in memory.
 *   C3. Per watcher only a cursor and a bounded list of live items are kept.
 *   C4. A watcher that subscribes while something is written gets no piece of it before what was written so far.
 */
import type { StoredEvent } from '@parley/protocol'
import type { WatchItem } from '../conversations.ts'
import { weight } from './weight.ts'

/** A live-only item and the seq that it follows. */
export type Live = { after: number; item: Exclude<WatchItem, { kind: 'event' }> }

/** Brings a new watcher to the place of a source: calls `ready` with what it has shown so far; null: nothing. Later calls have no effect. */
export type Join = (ready: (soFar: Live['item'] | null) => void) => void

/** Something that is being written: an answer, or the output of a command. */
export type LiveSource = {
  /** Sends an item to all watchers, except those that have not been brought to its place yet. */
  emit(item: Live['item']): void
  end(): void
}

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
  /** The sources, each with the watchers that wait for what it has shown so far. */
  readonly #sources = new Map<Join, Set<ChannelListener>>()
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
    for (const [join, joining] of this.#sources) this.#joinSource(listener, join, joining)
    return () => {
      this.#listeners.delete(listener)
      for (const joining of this.#sources.values()) joining.delete(listener)
      if (this.#listeners.size === 0) this.#empty()
    }
  }

  /** Something is being written from now on; `join` is called for each new watcher until its end. */
  begin(join: Join): LiveSource {
    const joining = new Set<ChannelListener>()
    this.#sources.set(join, joining)
    return {
      emit: (item) => {
        for (const listener of this.#listeners) if (!joining.has(listener)) listener.live({ after: this.latest, item })
      },
      end: () => void this.#sources.delete(join),
    }
  }

  #joinSource(listener: ChannelListener, join: Join, joining: Set<ChannelListener>): void {
    joining.add(listener)
    join((soFar) => {
      if (joining.delete(listener) && soFar !== null) listener.live({ after: this.latest, item: soFar })
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
    for (const listener of this.#listeners) listener.live({ after: this.latest, item })
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
