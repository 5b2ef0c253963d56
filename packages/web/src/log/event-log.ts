/** The log of one open conversation in the page: entries, rows, live text, state, and messages that are being sent. No React, no DOM. */
import { type Entry, entryOf, isTree, UNKNOWN, withEventOf } from './entry.ts'
import { type LiveOutput, withOutput } from './outputs.ts'
import { PendingMessages } from './pending.ts'
import { isLogEvent, type LogEvent, membersOf, numberOf, textOf } from './read.ts'
import { branchOf, changesRows, type Row, RowBuilder, sameRow } from './rows.ts'
import { type State, statusOf, withEvent, withSnapshot } from './state.ts'
import { emptyTail, type Tail, withCall, withDelta, withPartial } from './tail.ts'

const APPEND = { delta: withDelta, partial: withPartial, tool_call: withCall } as const

export class EventLog {
  readonly pending: PendingMessages
  /** The leaf moved to an event whose `seq` is not known: only a new outline says which rows are shown. */
  needsOutline = false
  #entries: Entry[] = []
  readonly #seqs = new Map<string, number>()
  readonly #strays = new Map<string, LogEvent>()
  readonly #bySeq = new Map<number, Entry>()
  #builder: RowBuilder
  #rows: readonly Row[] = []
  /** Rows must be computed from all entries again. */
  #isStale = false
  #hasNewRows = false
  /** The newest event of the branch that is shown; 0 when there is none. */
  #leaf = 0
  #hasBranches = false
  #state: State = {}
  #stateSeq = 0
  #tail: Tail | null = null
  #streams = 0
  /** Output of the calls that run, by the id of the action. */
  readonly #outputs = new Map<string, LiveOutput>()
  readonly #keys = new Map<number, string>()
  readonly #listeners = new Set<() => void>()
  #version = 0
  readonly #now: () => number

  /** @param now milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now
    this.pending = new PendingMessages(() => this.#changed())
    this.#builder = this.#newBuilder()
  }

  /** Calls `listener` after each change; returns the end of the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A number that differs after each change. */
  readonly version = (): number => this.#version

  /** The newest `seq` that is known; 0 for an empty log. */
  get lastSeq(): number {
    return this.#entries.at(-1)?.seq ?? 0
  }

  /** The oldest `seq` that is known; 0 for an empty log. */
  get firstSeq(): number {
    return this.#entries[0]?.seq ?? 0
  }

  /** The newest event of the branch that is shown; 0 when there is none. */
  get leaf(): number {
    return this.#leaf
  }

  /** All entries by `seq`. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  readonly state = (): State => this.#state
  readonly tail = (): Tail | null => this.#tail

  /** What a call that runs has written so far; undefined before its first line and after its result. */
  readonly output = (actionId: string): LiveOutput | undefined => this.#outputs.get(actionId)

  /** The `seq` of a loaded event by its id; 0 when it is not known. */
  readonly seqOf = (id: string): number => this.#seqs.get(id) ?? 0

  /** The event at `seq`; undefined while it is not loaded. */
  readonly event = (seq: number): LogEvent | undefined => this.#bySeq.get(seq)?.event

  /** Rows of the branch that is shown, oldest first; the same list until something changes. */
  readonly rows = (): readonly Row[] => {
    if (this.#isStale) this.#rebuild()
    else if (this.#hasNewRows) this.#rows = [...this.#builder.rows]
    this.#hasNewRows = false
    return this.#rows
  }

  /** Takes frames of a session socket, in order, and tells the listeners once. Frames that are no frames are left out. */
  take(frames: readonly unknown[]): void {
    for (const frame of frames) this.#take(membersOf(frame))
    this.#changed()
  }

  /** Takes events that were loaded, each with its `seq`, in any order. */
  takeEvents(events: Iterable<readonly [seq: number, event: unknown]>): void {
    for (const [seq, event] of events) if (isLogEvent(event)) this.#insert(seq, event)
    this.#changed()
  }

  /** Takes an event whose place is not known, so that it can be found by its id. */
  takeStray(event: LogEvent): void {
    this.#strays.set(event.id, event)
    this.#changed()
  }

  /** A loaded event by its id. */
  readonly eventById = (id: string): LogEvent | undefined => this.event(this.seqOf(id)) ?? this.#strays.get(id)

  /** Takes entries of an outline, whose events are loaded later. */
  takeOutline(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const known = this.#bySeq.get(entry.seq)
      this.#bySeq.set(entry.seq, known?.event === undefined ? entry : withEventOf(entry, known.event, this.seqOf))
    }
    this.#entries = [...this.#bySeq.values()].sort((a, b) => a.seq - b.seq)
    this.needsOutline = false
    this.#leaf = 0
    this.#hasBranches = false
    for (const entry of this.#entries) this.#movesLeaf(entry)
    this.#isStale = true
    this.#changed()
  }

  /** The connection ended: the text so far stays and is marked. */
  breakStream(): void {
    if (this.#tail === null || this.#tail.isBroken) return
    this.#tail = { ...this.#tail, isBroken: true }
    this.#changed()
  }

  #take(frame: Readonly<Record<string, unknown>>): void {
    switch (frame['type']) {
      case 'event': {
        const seq = numberOf(frame['seq'])
        if (seq !== null && isLogEvent(frame['event'])) this.#insert(seq, frame['event'])
        return
      }
      case 'snapshot': {
        const seq = numberOf(frame['seq']) ?? 0
        if (seq < this.#stateSeq) return
        this.#stateSeq = seq
        this.#state = withSnapshot(this.#state, frame['state'])
        this.#endIdleStream()
        return
      }
      case 'output': {
        const call = textOf(frame['action_id'])
        this.#outputs.set(call, withOutput(this.output(call), frame))
        return
      }
      case 'delta':
      case 'partial':
      case 'tool_call':
        this.#tail = APPEND[frame['type']](this.#openTail(frame), frame)
    }
  }

  /** The answer that a frame continues. After a break, a server that sends no offsets sends only later pieces. */
  #openTail(frame: Readonly<Record<string, unknown>>): Tail {
    const known = this.#tail
    if (known === null) return emptyTail(`s${++this.#streams}`, this.#now())
    return known.isBroken && numberOf(frame['offset']) === null ? emptyTail(known.key, this.#now()) : known
  }

  #insert(seq: number, event: LogEvent): void {
    const known = this.#bySeq.get(seq)
    if (known?.event !== undefined) return
    this.#seqs.set(event.id, seq)
    this.#outputs.delete(textOf(event['action_id']))
    if (event.kind === 'ActionEvent') this.#seqs.set(`call:${textOf(event['tool_call_id'])}`, seq)
    const read = known === undefined ? entryOf(seq, event, this.seqOf) : withEventOf(known, event, this.seqOf)
    const entry = read.parent === UNKNOWN ? { ...read, parent: this.#leaf } : read
    this.#bySeq.set(seq, entry)
    this.#patchState(seq, event)
    this.#carryKey(entry)
    if (known === undefined && seq > this.lastSeq) return this.#append(entry)
    const index = this.#entries.findIndex((other) => other.seq >= seq)
    this.#entries.splice(index, known === undefined ? 0 : 1, entry)
    this.#isStale ||= known === undefined || changesRows(known, entry)
  }

  #append(entry: Entry): void {
    this.#entries.push(entry)
    if (this.#movesLeaf(entry)) this.#isStale = true
    if (!this.#isStale && this.#builder.add(entry)) this.#hasNewRows = true
  }

  /** A snapshot lacks the waiting batch and its answer: they are read from older events, too. */
  #patchState(seq: number, event: LogEvent): void {
    const key = textOf(event['key'])
    if (this.#stateSeq < seq) {
      this.#stateSeq = seq
      this.#state = withEvent(this.#state, event)
      this.#endIdleStream()
    } else if (key === 'confirmation_request' || key === 'approval') {
      const at = textOf(membersOf(this.#state[key])[key === 'approval' ? 'at' : 'asked_at'])
      if (at < event.timestamp) this.#state = withEvent(this.#state, event)
    }
  }

  /** Follows the leaf; true when the entry does not continue the branch that is shown. */
  #movesLeaf(entry: Entry): boolean {
    if (entry.tool === 'leaf_event_id' && !isTree(entry)) {
      this.needsOutline ||= entry.refers === UNKNOWN
      this.#leaf = entry.refers
      this.#hasBranches = true
      return true
    }
    if (!isTree(entry)) return false
    const isNext = this.#leaf === 0 || entry.parent === this.#leaf
    this.#leaf = entry.seq
    if (!isNext) this.#hasBranches = true
    return !isNext
  }

  /** A stored message takes the row of the one that was being sent; a stored answer that of the streamed one. */
  #carryKey(entry: Entry): void {
    if (entry.kind === 'MessageEvent' && entry.from === 'user') {
      const key = this.pending.stored(entry.event?.id ?? '')
      if (key !== null) this.#keys.set(entry.seq, key)
      return
    }
    const isAnswer = entry.from === 'agent' && (entry.kind === 'MessageEvent' || entry.kind === 'ActionEvent')
    if (!isAnswer || this.#tail === null) return
    this.#keys.set(entry.seq, this.#tail.key)
    this.#tail = null
  }

  /** Text that no stored event will replace ends with the run. */
  #endIdleStream(): void {
    if (this.#tail !== null && !['running', 'idle'].includes(statusOf(this.#state))) this.#tail = null
  }

  #rebuild(): void {
    this.#isStale = false
    const known = new Map(this.#rows.map((row) => [row.key, row]))
    this.#builder = this.#newBuilder()
    for (const entry of this.#hasBranches ? branchOf(this.#entries, this.#leaf) : this.#entries)
      this.#builder.add(entry)
    this.#rows = this.#builder.rows.map((row) => sameRow(known.get(row.key), row))
  }

  #newBuilder(): RowBuilder {
    return new RowBuilder((seq) => this.#keys.get(seq))
  }

  #changed(): void {
    this.#version++
    for (const listener of this.#listeners) listener()
  }
}
