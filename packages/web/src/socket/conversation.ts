/** Open conversations of this page: each has its log, its connection and its loader. The four used last are kept. */
import { onSessionChange } from '../api/session.ts'
import { server, ServerError } from '../api/server.ts'
import { entriesOf } from '../log/entry.ts'
import { EventLog } from '../log/event-log.ts'
import { isLogEvent, type LogEvent, listOf, membersOf, numberOf } from '../log/read.ts'
import { statusOf } from '../log/state.ts'
import { BodyLoader } from './bodies.ts'
import { Connection, type ConnectionState } from './connection.ts'

const KEPT = 4
/** Newest events that are loaded at once when a conversation is opened. */
const FIRST_EVENTS = 60
/** Entries of one page of the outline. */
const OUTLINE_PAGE = 50_000

export class OpenConversation {
  readonly id: string
  readonly log = new EventLog()
  readonly bodies: BodyLoader
  #connection: Connection | null = null
  #state: ConnectionState = { status: 'connecting', since: Date.now() }
  #isLoaded = false
  #isReloading = false
  readonly #listeners = new Set<() => void>()
  readonly #end = new AbortController()

  constructor(id: string) {
    this.id = id
    this.bodies = new BodyLoader(
      (first, last) => this.#loadEvents(first, last),
      (seq) => this.log.event(seq) !== undefined,
    )
    const leave = onSessionChange(() => this.#connection?.retryNow())
    this.#end.signal.addEventListener('abort', leave)
    void this.#open()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly state = (): ConnectionState => this.#state
  /** False until the first rows are known. */
  readonly isLoaded = (): boolean => this.#isLoaded

  /** Path of an endpoint of this conversation. */
  path(rest = ''): string {
    return `/api/conversations/${encodeURIComponent(this.id)}${rest}`
  }

  /** Loads one event by its id, for an action that is older than what is loaded. */
  async loadEvent(eventId: string): Promise<void> {
    const seq = this.log.seqOf(eventId)
    if (seq > 0) return this.bodies.want([seq])
    const event = await this.#call('GET', `/events/${encodeURIComponent(eventId)}`, {}).catch(() => undefined)
    if (isLogEvent(event)) this.log.takeStray(event)
  }

  /** The event at `seq`, which is loaded when it is not. Resolves to undefined when there is none. */
  async eventAt(seq: number): Promise<LogEvent | undefined> {
    if (this.log.event(seq) === undefined) await this.#loadEvents(seq, seq)
    return this.log.event(seq)
  }

  retryNow(): void {
    this.#connection?.retryNow()
  }

  close(): void {
    this.#end.abort()
    this.#connection?.close()
  }

  async #open(): Promise<void> {
    await this.#loadOutline()
    if (this.#end.signal.aborted) return
    this.#connection = new Connection({
      url: (after) => server.socketUrl(`/sockets/session/${encodeURIComponent(this.id)}?after_seq=${after}`),
      token: server.token,
      lastSeq: () => this.log.lastSeq,
      onFrames: (frames) => this.#take(frames),
      onState: (state) => this.#setState(state),
    })
  }

  #take(frames: readonly unknown[]): void {
    this.log.take(frames)
    this.#setLoaded()
    if (this.#connection !== null) this.#connection.expectsFrames = statusOf(this.log.state()) === 'running'
    if (!this.log.needsOutline || this.#isReloading) return
    this.#isReloading = true
    void this.#loadOutline().finally(() => (this.#isReloading = false))
  }

  /** Reads the outline, and the newest events. Without it the socket sends the whole log. */
  async #loadOutline(): Promise<void> {
    try {
      const query = { limit: OUTLINE_PAGE }
      const outline = await this.#call('GET', '/events/outline', query)
      this.log.takeOutline(entriesOf(outline))
      const last = this.log.lastSeq
      if (last > 0) await this.#loadEvents(Math.max(1, last - FIRST_EVENTS + 1), last)
      this.#setLoaded()
      void this.#loadOlder(numberOf(membersOf(outline)['first_seq']) ?? 1)
    } catch (error) {
      if (error instanceof ServerError && error.status === 401) this.#setState({ status: 'refused' })
    }
  }

  /** Longer logs load their older pages after the newest one. */
  async #loadOlder(before: number): Promise<void> {
    let first = before
    while (first > 1 && !this.#end.signal.aborted) {
      const outline = await this.#call('GET', '/events/outline', { limit: OUTLINE_PAGE, before_seq: first })
      const entries = entriesOf(outline)
      if (entries.length === 0) return
      this.log.takeOutline(entries)
      first = entries[0]?.seq ?? 1
    }
  }

  async #loadEvents(first: number, last: number): Promise<void> {
    const page = membersOf(await this.#call('GET', '/events/search', { seqs: `${first}-${last}` }))
    const seqs = listOf(page['seqs'])
    this.log.takeEvents(listOf(page['items']).map((event, index) => [numberOf(seqs[index]) ?? 0, event] as const))
  }

  #call(method: string, rest: string, query: Record<string, string | number>): Promise<unknown> {
    return server.call(method, this.path(rest), { query, signal: this.#end.signal })
  }

  #setLoaded(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    this.#tell()
  }

  #setState(state: ConnectionState): void {
    if (this.#state.status === 'open' && state.status !== 'open') this.log.breakStream()
    this.#state = state
    // The login sheet opens when a call is refused.
    if (state.status === 'refused') void server.call('GET', '/api/me').catch(() => undefined)
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

const open = new Map<string, OpenConversation>()

/** The conversation, opened when it is not; the one that was used least recently is closed. */
export function openConversation(id: string): OpenConversation {
  const known = open.get(id) ?? new OpenConversation(id)
  open.delete(id)
  open.set(id, known)
  for (const [other, conversation] of open) {
    if (open.size <= KEPT) break
    conversation.close()
    open.delete(other)
  }
  return known
}
