/**
 * The coordination of nodes that share a store. The store decides who owns what; this file remembers what it has answered, and asks again when the
 * answer may be outdated.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ParleyError, type ConversationId } from '@parley/protocol'
import { abortable } from '../lib/index.ts'
import type { ClaimOutcome, Log } from '../observability/index.ts'
import type { Lease, NodeDetails, NodeNumber, Notifications, PlaceId, SharedStore, Storage } from '../storage/index.ts'
import type { Coordination, LiveNode, Owner, Topic } from './coordination.ts'
import { lead } from './leadership.ts'
import { conflict, faultBeside } from './neighbours.ts'
import { Owned } from './owned.ts'

/** Milliseconds between two looks for orphans, and after a message that there are some. Both vary, so that nodes take turns. */
const LOOK_MS = 1_000
const LOOK_SOON_MS = 50
/** Milliseconds before a question is repeated that has no answer yet. */
const RETRY_MS = 100

export type SharedCoordinationDeps = {
  storage: Pick<Storage, 'nodes' | 'conversations'>
  shared: SharedStore
  /** `url` empty: it is not known before the server listens. */
  self: Omit<NodeDetails, 'places'>
  place: PlaceId
  /** Milliseconds. */
  leaseMs: number
  /** Called with the answers of the store to claims, by a request or by the search for orphans. */
  onClaim: (outcome: ClaimOutcome, count: number) => void
  log: Pick<Log, 'error' | 'warn' | 'info'>
}

/**
 * Takes a number and its lease. Resolves when no live node is in the way: one that has just ended may hold its lease for its time.
 * @throws ParleyError `conflict` for another node with the same data directory or address; `unavailable`
 */
export async function openSharedCoordination(deps: SharedCoordinationDeps): Promise<Coordination> {
  const node = await deps.storage.nodes.add({ ...deps.self, places: [deps.place] })
  await using opened = new AsyncDisposableStack()
  const lease = opened.use(await deps.shared.openLease(node, deps.leaseMs))
  const notifications = opened.use(await deps.shared.openNotifications(node))
  const coordination = new SharedCoordination(deps, node, lease, notifications)
  await coordination.expectAlone(deps.self.url !== '')
  coordination.start()
  opened.move()
  return coordination
}

class SharedCoordination implements Coordination {
  readonly node: NodeNumber
  readonly place: PlaceId
  readonly isShared = true
  readonly #deps: SharedCoordinationDeps
  readonly #lease: Lease
  readonly #notifications: Notifications
  readonly #owned = new Owned()
  readonly #ending = new AbortController()
  readonly #onOrphans = new Set<() => void>()
  readonly #onReturn = new Set<() => void | Promise<void>>()
  /** Conversations that should run and were claimed by requests. */
  #claimed: ConversationId[] = []
  /** True when the answer to a claim was lost, so this node may own conversations that it does not know of. */
  #isUnsure = false
  #isDraining = false
  /** Null unless the session is new and listeners compare what they have with the store. */
  #returning: Promise<void> | null = null
  #soon: NodeJS.Timeout | undefined
  #watch: AsyncDisposable | undefined

  constructor(deps: SharedCoordinationDeps, node: NodeNumber, lease: Lease, notifications: Notifications) {
    this.#deps = deps
    this.node = node
    this.place = deps.place
    this.#lease = lease
    this.#notifications = notifications
  }

  start(): void {
    this.#lease.onSession((isHeld) => this.#sessionChanged(isHeld))
    this.on('orphans', () => this.#lookSoon())
    this.#watch = this.#deps.shared.watchLeases(this.node, () => {
      this.tell('orphans')
      this.#lookNow()
    })
    void this.#lookAlways()
  }

  async confirm(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    while (!this.#lease.isConfirmed || this.#returning !== null) {
      if (this.#returning !== null) await abortable(this.#returning, signal)
      else if (!(await abortable(this.#lease.ping(), signal))) await abortable(sleep(RETRY_MS), signal)
    }
    signal.throwIfAborted()
  }

  async claim(id: ConversationId): Promise<Owner> {
    if (this.#lease.isConfirmed && this.#owned.has(id)) return { kind: 'here' }
    // The longest time for which a node that has ended may hold its lease, and then nodes wait once more after a restart of the store.
    const late = AbortSignal.timeout(2 * this.#deps.leaseMs)
    for (;;) {
      const owner = await this.#look(id)
      if (owner.kind !== 'here' || this.#owned.has(id)) return owner
      await this.#confirmed(late)
      const { session } = this.#lease
      const claiming = await this.#deps.storage.conversations.claim(id, this.node).catch((error: unknown) => {
        this.#isUnsure = true
        this.#deps.onClaim('failed', 1)
        throw error
      })
      this.#deps.onClaim(claiming.kind === 'claimed' ? 'claimed' : 'refused', 1)
      if (claiming.kind === 'unknown') return claiming
      if (claiming.kind === 'claimed') {
        if (session === this.#lease.session) this.#owned.add(id)
        if (claiming.wanting.length > 0) this.#hand(claiming.wanting)
        return { kind: 'here' }
      }
      if (late.aborted) throw noOwner(id)
      await sleep(RETRY_MS)
    }
  }

  async ownerOf(id: ConversationId): Promise<Owner> {
    return this.#lease.isConfirmed && this.#owned.has(id) ? { kind: 'here' } : this.#look(id)
  }

  async claimOrphans(limit: number): Promise<ConversationId[]> {
    if (this.#isDraining) return []
    const ids = this.#claimed.splice(0)
    if (!this.#lease.isConfirmed) return ids
    const { conversations } = this.#deps.storage
    try {
      if (this.#isUnsure) {
        this.#isUnsure = false
        ids.push(...(await conversations.wanting(this.node)))
      }
      const { session } = this.#lease
      const orphans = limit === 0 ? [] : await conversations.orphans(this.node, limit)
      this.#deps.onClaim('orphan', orphans.length)
      if (session === this.#lease.session) for (const id of orphans) this.#owned.add(id)
      ids.push(...orphans)
    } catch (error) {
      this.#isUnsure = true
      this.#claimed.unshift(...ids)
      throw error
    }
    return [...new Set(ids)]
  }

  onOrphans(listener: () => void): Disposable {
    return added(this.#onOrphans, listener)
  }

  onReturn(listener: () => void | Promise<void>): Disposable {
    return added(this.#onReturn, listener)
  }

  tell(topic: Topic, subject?: string): void {
    this.#notifications.send(topic, subject ?? null)
  }

  on(topic: Topic, listener: (subject: string | null) => void): Disposable {
    const ends = new DisposableStack()
    ends.use(this.#notifications.onMessage((told, subject) => told === topic && listener(subject)))
    ends.use(this.#notifications.onMissed(() => listener(null)))
    return ends
  }

  lead(name: string, work: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
    return lead({ lease: this.#lease, leaseMs: this.#deps.leaseMs, log: this.#deps.log }, name, work)
  }

  nodes(): Promise<LiveNode[]> {
    return this.#deps.shared.liveNodes()
  }

  async listensAt(url: string): Promise<void> {
    if (this.#deps.self.url !== '') return
    await this.#deps.shared.setUrl(this.node, url)
    await this.expectAlone(true)
  }

  async drain(): Promise<void> {
    if (this.#isDraining) return
    this.#isDraining = true
    await this.#deps.shared.setDraining(this.node)
  }

  async release(keeping?: readonly ConversationId[]): Promise<void> {
    this.#owned.clear()
    await this.#deps.storage.conversations.release(this.node, keeping)
    this.tell('orphans')
    await this.#notifications.flush()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    clearTimeout(this.#soon)
    this.#owned.clear()
    await this.#watch?.[Symbol.asyncDispose]()
    await this.#lease[Symbol.asyncDispose]()
    // What was not released has no live owner from now on.
    this.tell('orphans')
    await this.#notifications[Symbol.asyncDispose]()
  }

  /**
   * Waits for nodes that are in the way as long as one that has ended may hold its lease.
   * @param comparesAddresses false: the own one is not known yet
   * @throws ParleyError `conflict`
   */
  async expectAlone(comparesAddresses: boolean): Promise<void> {
    const until = performance.now() + 1.5 * this.#deps.leaseMs
    for (;;) {
      const nodes = await this.nodes()
      const self = nodes.find(({ n }) => n === this.node) ?? {
        ...this.#deps.self,
        places: [this.place],
        n: this.node,
        startedAt: '',
        drainingAt: null,
      }
      const others = nodes.filter(({ n }) => n !== this.node)
      const faults = others.map((other) => faultBeside(self, other, comparesAddresses))
      const fault = faults.find((text) => text !== null)
      if (fault === undefined || fault === null) return
      if (performance.now() > until) throw conflict(fault)
      await sleep(RETRY_MS)
    }
  }

  /** Who owns a conversation. `here` also for one without a live owner that this node may own. */
  async #look(id: ConversationId): Promise<Owner> {
    const { session } = this.#lease
    const holder = await this.#deps.storage.conversations.holder(id)
    if (holder === null) return { kind: 'unknown' }
    const { node, place } = holder
    if (node === this.node) {
      if (this.#lease.isConfirmed && session === this.#lease.session) this.#owned.add(id)
      return { kind: 'here' }
    }
    if (holder.isLive && node !== null) return { kind: 'elsewhere', node, url: holder.url }
    const isOfThis = place === null || place === this.place
    if (isOfThis && !this.#isDraining) return { kind: 'here' }
    const nodes = (await this.nodes()).filter(({ n, drainingAt }) => n !== this.node && drainingAt === null)
    const able = place === null ? nodes : nodes.filter(({ places }) => places.includes(place))
    const chosen = able[Math.floor(Math.random() * able.length)]
    if (chosen !== undefined) return { kind: 'elsewhere', node: chosen.n, url: chosen.url }
    if (isOfThis) throw new ParleyError('unavailable', 'The server is shutting down. Try again in a moment.')
    return { kind: 'nowhere', place: place! }
  }

  /** @throws ParleyError `unavailable` when the lease cannot be confirmed in time */
  async #confirmed(late: AbortSignal): Promise<void> {
    try {
      await this.confirm(late)
    } catch (cause) {
      throw new ParleyError('unavailable', 'The server has lost its connection to the store. Try again in a moment.', {
        cause,
      })
    }
  }

  #sessionChanged(isHeld: boolean): void {
    const { log } = this.#deps
    this.#owned.clear()
    if (this.#ending.signal.aborted) return
    if (!isHeld) return log.warn({ node: this.node }, 'session with the store lost')
    log.info({ node: this.node }, 'session with the store is back')
    const returning = this.#compare(this.#lease.session).finally(() => {
      if (this.#returning === returning) this.#returning = null
    })
    this.#returning = returning
    this.#lookSoon()
  }

  async #compare(session: number): Promise<void> {
    const isCurrent = () => this.#lease.session === session && !this.#ending.signal.aborted
    for (const listener of this.#onReturn)
      while (isCurrent()) {
        try {
          await listener()
          break
        } catch (err) {
          this.#deps.log.warn({ err }, 'ownership not compared with the store, to be repeated')
          await sleep(RETRY_MS)
        }
      }
  }

  /** Conversations that should run and have just become this node's. */
  #hand(ids: readonly ConversationId[]): void {
    this.#claimed.push(...ids)
    this.#lookNow()
  }

  #lookNow(): void {
    if (this.#ending.signal.aborted) return
    for (const listener of this.#onOrphans) listener()
  }

  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined
      this.#lookNow()
    }, Math.random() * LOOK_SOON_MS).unref()
  }

  async #lookAlways(): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      const wait = LOOK_MS * (0.75 + Math.random() / 2)
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined)
      this.#lookNow()
    }
  }
}

function added<T>(listeners: Set<T>, listener: T): Disposable {
  listeners.add(listener)
  return { [Symbol.dispose]: () => void listeners.delete(listener) }
}

const noOwner = (id: ConversationId): ParleyError =>
  new ParleyError('unavailable', `The owner of conversation ${id} has ended. Try again in a moment.`, {
    details: { conversation_id: id },
  })
