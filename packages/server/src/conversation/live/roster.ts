/** The conversations in the memory of this process: loaded when needed, unloaded when idle. */
import { ParleyError, type ConversationId, type ConversationState } from '@parley/protocol'
import { endsInTime, TimeSlices } from '../../lib/index.ts'
import type { Coordination } from '../../coordination/index.ts'
import { isUnreadable, type ConversationRow, type NodeNumber, type OwnedRow } from '../../storage/index.ts'
import { Channel } from '../watch/channel.ts'
import type { Interruption } from '../interruption.ts'
import { pausedAfterCrashes, pausedAfterRestore } from '../drafts.ts'
import type { LiveDeps } from './deps.ts'
import { Holds } from './holds.ts'
import { IdleMemory } from './idle-memory.ts'
import { LiveConversation } from './live-conversation.ts'
import type { Loaded } from '../log/live-log.ts'
import { StoredConversations } from '../log/stored-conversations.ts'
import { expectHere, moved, ownedElsewhere } from './owned-elsewhere.ts'
import type { Reading } from '../record/reading.ts'
import { remoteOf, type ConversationRecord } from '../record/record.ts'

/** Longest wait, in milliseconds, for the end of a copy that is void before another copy is loaded. */
const LEAVING_MS = 5_000

/** Rows that are compared at once with what is in memory. */
const PAGE = 100

/** Crashes of the process in one run of a conversation after which it is not resumed by itself. */
const MAX_CRASHES = 3

export type RosterDeps = LiveDeps & {
  coordination: Pick<Coordination, 'node' | 'isShared' | 'claim'>
  readRecord: (text: string) => ConversationRecord
  /** Milliseconds without a command, a run or a watcher after which a conversation leaves memory. */
  idleUnloadMs: number
}

export class Roster {
  readonly #deps: RosterDeps
  readonly #stored: StoredConversations
  readonly #live = new Map<ConversationId, Promise<LiveConversation>>()
  readonly #channels = new Map<ConversationId, Channel>()
  /** Idle timers, those of the least recently used conversations first. */
  readonly #timers = new Map<ConversationId, NodeJS.Timeout>()
  readonly #idleMemory: IdleMemory
  readonly #holds = new Holds()
  readonly #resuming = new Map<ConversationId, Promise<void>>()
  readonly #closing = new AbortController()
  #isDraining = false

  constructor(deps: RosterDeps) {
    this.#idleMemory = new IdleMemory({
      newestFirst: () => [...this.#timers.keys()].toReversed(),
      inMemory: (id) => this.inMemory(id),
      unload: (id) => this.#unloadIfIdle(id),
      log: deps.log,
    })
    const onActivity = () => {
      deps.onActivity()
      this.#idleMemory.changed()
    }
    this.#deps = { ...deps, onActivity }
    this.#stored = new StoredConversations(deps)
  }

  /** Number of conversations in memory. */
  get size(): number {
    return this.#live.size
  }

  /**
   * Returns the conversation, loaded if necessary, and after all holds.
   * @throws ParleyError `not_found`; `unavailable` with its owner when this node may not own it (`ownedElsewhere`)
   */
  async load(id: ConversationId): Promise<LiveConversation> {
    // Nothing waits for it meanwhile: what reads the conversation reads the store.
    if (this.#holds.has(id)) await this.#holds.ended(id)
    if (this.#closing.signal.aborted)
      throw new ParleyError('unavailable', 'The server is shutting down. Try again in a moment.')
    this.#touch(id)
    const loaded = this.#live.get(id)
    if (loaded !== undefined) return loaded
    if (this.#isDraining) throw new ParleyError('unavailable', DRAINING)
    const loading = this.#open(id)
    this.#live.set(id, loading)
    loading.catch(() => this.#live.get(id) === loading && this.#live.delete(id))
    return loading
  }

  /** Keeps a conversation from being loaded until it is disposed. `evict` removes the copy that is in memory. */
  hold(id: ConversationId): Disposable {
    return this.#holds.hold(id)
  }

  /**
   * Loads a conversation so that its run continues, unless it was deleted or another node continues it. While the store refuses that, it
   * is repeated, once for all callers.
   */
  resume(id: ConversationId): Promise<void> {
    const known = this.#resuming.get(id)
    if (known !== undefined) return known
    const resuming = this.#resume(id).finally(() => this.#resuming.delete(id))
    this.#resuming.set(id, resuming)
    return resuming
  }

  async #resume(id: ConversationId): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return void (await this.load(id))
      } catch (err) {
        if ((err instanceof ParleyError && err.code === 'not_found') || ownedElsewhere(err) !== null) return
        const isRefused = err instanceof ParleyError && err.code === 'unavailable' && !isUnreadable(err)
        if (!isRefused || this.#closing.signal.aborted) throw err
        this.#deps.log.warn({ conversation_id: id, attempt, err }, 'conversation not loaded, to be repeated')
      }
      await this.#deps.appendRetry.wait(this.#closing.signal)
    }
  }

  /** True for a conversation that is in memory, or is being loaded. */
  isLoaded(id: ConversationId): boolean {
    return this.#live.has(id)
  }

  /** Returns the conversation if it is in memory, without loading it. */
  async inMemory(id: ConversationId): Promise<LiveConversation | undefined> {
    return this.#live.get(id)?.catch(() => undefined)
  }

  /** Adds a conversation that was just created. */
  admit(row: ConversationRow, record: ConversationRecord, state: ConversationState): LiveConversation {
    const loaded = {
      id: row.id,
      epoch: row.epoch,
      owner: row.owner,
      created_at: row.created_at,
      record,
      state,
      view: null,
      cachedSeq: state.seq,
    }
    const live = this.#make(loaded, this.#channel(row.id, state.seq))
    this.#live.set(row.id, Promise.resolve(live))
    this.#touch(row.id)
    return live
  }

  /** Returns the live end of a conversation whose newest seq is at least `latest`. */
  channel(id: ConversationId, latest: number): Channel {
    return this.#channel(id, latest)
  }

  /** Drops the channel of a conversation that has no watcher and is not in memory. */
  release(id: ConversationId): void {
    if (this.#channels.get(id)?.isUnused === true && !this.#live.has(id)) this.#channels.delete(id)
  }

  /**
   * Reads several conversations: from memory where possible, the others from the store. Null for unknown ones, and for one that is
   * deleted meanwhile. One that cannot be read is marked and does not affect the others.
   */
  async read(rows: readonly (ConversationRow | null)[]): Promise<(Reading | null)[]> {
    const slices = new TimeSlices()
    const readings: (Reading | null)[] = []
    for (const row of rows) {
      await slices.next()
      readings.push(row === null ? null : await this.#read(row))
    }
    return readings
  }

  async #read(row: ConversationRow): Promise<Reading | null> {
    const live = await this.#live.get(row.id)?.catch(() => undefined)
    // Another node has owned the conversation since this copy was loaded.
    if (live !== undefined && live.epoch < row.epoch) this.#lost(live, true)
    else if (live !== undefined) return { row, record: live.record, state: live.state() }
    const [stored] = await this.#deps.storage.conversations.states([row.id])
    return this.#stored.read(row, stored ?? null)
  }

  /** Ends the watchers of a conversation that was deleted, those that came during its deletion too. */
  deleted(id: ConversationId): void {
    this.#channels.get(id)?.emit({ kind: 'deleted' })
    this.release(id)
  }

  /** Removes one conversation from memory at once. */
  async evict(id: ConversationId, why: Interruption): Promise<void> {
    this.#forget(id)
    const live = await this.#live.get(id)?.catch(() => undefined)
    this.#live.delete(id)
    await live?.close(why)
    this.release(id)
  }

  /** Gives up what other nodes have claimed: copies in memory, and watchers of conversations that are not in memory. */
  async verify(): Promise<void> {
    const ids = [...new Set([...this.#live.keys(), ...this.#channels.keys()])]
    for (let from = 0; from < ids.length; from += PAGE)
      for (const row of await this.#deps.storage.conversations.getMany(ids.slice(from, from + PAGE)))
        if (row !== null) await this.#verify(row)
  }

  async #verify({ id, epoch, node }: ConversationRow): Promise<void> {
    const live = await this.inMemory(id)
    if (live === undefined && node !== this.#deps.coordination.node) this.#channels.get(id)?.end(moved(id))
    else if (live !== undefined && live.epoch < epoch) this.#lost(live, true)
  }

  /**
   * Gives the conversations in memory that can move to other nodes: each when the runs of its root are between two steps, at the latest
   * when `late` aborts. Loads nothing more.
   * @param release called when some have left memory, with the roots of those that have not
   */
  async drain(release: (keeping: readonly ConversationId[]) => Promise<void>, late: AbortSignal): Promise<void> {
    this.#isDraining = true
    const roots = new Map<ConversationId, LiveConversation[]>()
    for (const id of this.#live.keys()) {
      const live = await this.inMemory(id)
      if (live === undefined || remoteOf(live.record.workspace) === null) continue
      const root = await this.#rootOf(live)
      roots.set(root, [...(roots.get(root) ?? []), live])
    }
    // Those that are not in memory.
    await release([...roots.keys()])
    const leave = async ([root, members]: [ConversationId, LiveConversation[]]) => {
      await endsInTime(Promise.all(members.map((live) => live.drain())), late)
      await Promise.all(members.map(({ id }) => this.evict(id, 'draining')))
      roots.delete(root)
      await release([...roots.keys()])
      for (const { id } of members) this.#channels.get(id)?.end(moved(id))
    }
    await Promise.all([...roots].map(leave))
  }

  /** The conversation that a sub-agent works for in the end. */
  async #rootOf(live: LiveConversation): Promise<ConversationId> {
    let { id, record }: Pick<LiveConversation, 'id' | 'record'> = live
    while (record.sub_agent && record.parent_conversation_id !== null) {
      const parent = await this.#deps.storage.conversations.get(record.parent_conversation_id)
      if (parent === null) break
      id = parent.id
      record = this.#deps.readRecord(parent.record)
    }
    return id
  }

  /** Ends every run without recording an end: the next process continues them. */
  async close(): Promise<void> {
    this.#closing.abort(new ParleyError('unavailable', 'The server is shutting down.'))
    this.#idleMemory.close()
    await Promise.all([...this.#live.keys()].map((id) => this.evict(id, 'draining')))
  }

  #make(loaded: Loaded, channel: Channel): LiveConversation {
    const live: LiveConversation = new LiveConversation(loaded, channel, this.#deps, (hasNewOwner) =>
      this.#lost(live, hasNewOwner),
    )
    return live
  }

  /**
   * Removes a copy that no longer equals the stored log; the next request loads the conversation again. Without a new owner it is
   * loaded at once, so that its run continues.
   */
  #lost(live: LiveConversation, hasNewOwner: boolean): void {
    const { id } = live
    const { log, coordination } = this.#deps
    if (live.isClosed) return
    const has_new_owner = hasNewOwner
    log.warn({ conversation_id: id, has_new_owner }, 'conversation removed from memory: its log has changed')
    this.#forget(id)
    this.#live.delete(id)
    const closed = live
      .close('lost')
      .catch((err: unknown) => log.error({ conversation_id: id, err }, 'copy not closed'))
    const late = new Promise<void>((resolve) => setTimeout(resolve, LEAVING_MS).unref())
    const hold = this.#holds.hold(id)
    void Promise.race([closed, late]).then(() => hold[Symbol.dispose]())
    if (hasNewOwner) this.#channels.get(id)?.end(moved(id))
    // The new owner may have given the conversation away already.
    if (hasNewOwner && !(coordination.isShared && live.state().execution_status === 'running')) return
    this.resume(id).catch((err: unknown) => log.error({ conversation_id: id, err }, 'conversation not loaded again'))
  }

  async #open(id: ConversationId): Promise<LiveConversation> {
    const owned = await this.#own(id)
    const loaded = await this.#stored.load(owned).catch((error: unknown) => this.#setAside(owned.row, error))
    const channel = this.#channel(id, owned.row.seq)
    // Another process may have appended since the last copy in this process.
    channel.advance(owned.row.seq)
    const live = this.#make(loaded, channel)
    await this.#deps.parentLink.beforeResuming(live)
    const { crashes, restoredFrom } = owned
    if (restoredFrom !== null) await live.commit((state) => pausedAfterRestore(state, restoredFrom))
    else if (crashes < MAX_CRASHES) live.resume()
    else await live.commit((state) => pausedAfterCrashes(state, crashes))
    return live
  }

  /** @throws ParleyError `not_found`; `unavailable`: another node owns it */
  async #own(id: ConversationId): Promise<OwnedRow> {
    const { coordination, storage } = this.#deps
    // The only node of a store owns everything.
    if (coordination.isShared) expectHere(id, await coordination.claim(id))
    const owned = await storage.conversations.own(id, coordination.node)
    if (owned.kind === 'unknown') expectHere(id, owned)
    if (owned.kind === 'held') throw heldBy(id, owned.by)
    if (owned.kind === 'away') expectHere(id, { kind: 'nowhere', place: owned.place })
    return owned as OwnedRow
  }

  /** Gives a running conversation that cannot be read the stored status `error`, so that no start resumes it. Throws the reason. */
  async #setAside({ id, epoch, seq, status }: ConversationRow, error: unknown): Promise<never> {
    if (isUnreadable(error) && status === 'running') {
      this.#deps.log.error({ conversation_id: id, err: error }, 'unreadable conversation set aside')
      const row = { status: 'error' as const }
      await this.#deps.storage.conversations.append({ id, epoch, expectedSeq: seq, events: [], row })
    }
    throw error
  }

  #channel(id: ConversationId, latest: number): Channel {
    const known = this.#channels.get(id)
    if (known !== undefined) return known
    const channel = new Channel(latest)
    this.#channels.set(id, channel)
    return channel
  }

  /** Restarts the idle timer. */
  #touch(id: ConversationId): void {
    this.#forget(id)
    const timer = setTimeout(() => void this.#unloadIfIdle(id), this.#deps.idleUnloadMs)
    timer.unref()
    this.#timers.set(id, timer)
    this.#idleMemory.changed()
  }

  #forget(id: ConversationId): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
  }

  async #unloadIfIdle(id: ConversationId): Promise<void> {
    const loading = this.#live.get(id)
    const live = await loading?.catch(() => undefined)
    // Callers that waited for the same load send their commands first. After this point no other caller gets this copy.
    await new Promise((resolve) => setImmediate(resolve))
    if (live === undefined || this.#live.get(id) !== loading) return
    if (!live.isIdle) return this.#touch(id)
    this.#forget(id)
    this.#live.delete(id)
    await live.close('interrupted')
    this.release(id)
  }
}

const heldBy = (id: ConversationId, node: NodeNumber): ParleyError =>
  new ParleyError('unavailable', `Conversation ${id} is owned by another process. Try again in a moment.`, {
    details: { conversation_id: id, node },
  })

const DRAINING = 'The server is about to end, and gives its conversations to other nodes. Try again in a moment.'
