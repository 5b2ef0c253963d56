/** All open live connections: counted per conversation, kept alive, ended when they stall, and closed with the server. */
import type { ConversationId } from '@parley/protocol'
import type { OpenCount } from '../../quotas/index.ts'

export type LiveLimits = {
  /** Connections of one conversation. */
  maxPerConversation: number
  /** Time between two pings, and time limit of the answer to a ping. */
  pingMs: number
  /** Longest time for which a connection may accept no bytes while some are pending. */
  stallMs: number
  /** Time limit for the first frame of a socket without a key in its request. */
  authMs: number
  /** Largest frame of a socket before its key is known, in bytes. */
  firstFrameBytes: number
  /** Sockets whose key is not known yet. */
  maxUnauthenticated: number
  /** Those of one address; of IPv6, of one /64 network. */
  maxUnauthenticatedPerAddress: number
}

/**
 * More sockets than clients expect, because a slow one is cheap here. Source: agent-server-wire.md 2.2, 2.6, 10.1;
 * docs/security.md, Limits.
 */
const LIVE_LIMITS: LiveLimits = {
  maxPerConversation: 500,
  pingMs: 20_000,
  stallMs: 30_000,
  authMs: 10_000,
  firstFrameBytes: 8 * 1024,
  maxUnauthenticated: 64,
  maxUnauthenticatedPerAddress: 8,
}

export interface LiveConnection {
  /** Called every few seconds: sends pings, detects silence, ends stalled connections. */
  beat(now: number): void
  /** Announces the shutdown of the server. */
  shutDown(): void
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
  /** Ends the connection without a close frame. */
  destroy(): void
}

/** Longest wait for close frames at shutdown. */
const GOODBYE_MS = 2000

export class Connections {
  readonly limits: LiveLimits
  readonly #ofUsers: OpenCount
  readonly #open = new Set<LiveConnection>()
  readonly #perConversation = new Map<ConversationId, number>()
  #heart: NodeJS.Timeout | undefined
  #isShuttingDown = false

  /** @param ofUsers counts the connections of each user */
  constructor(ofUsers: OpenCount, limits: Partial<LiveLimits> = {}) {
    this.#ofUsers = ofUsers
    this.limits = { ...LIVE_LIMITS, ...limits }
  }

  get count(): number {
    return this.#open.size
  }

  /** Registers `connection` until it is closed. One timer serves all connections; it stops with the last. */
  add(connection: LiveConnection): void {
    this.#open.add(connection)
    this.#heart ??= setInterval(
      () => {
        const now = Date.now()
        for (const open of this.#open) open.beat(now)
      },
      Math.min(this.limits.pingMs, this.limits.stallMs) / 4,
    ).unref()
    // Its handshake ended after the shutdown had begun.
    if (this.#isShuttingDown) connection.shutDown()
    void connection.closed.then(() => {
      this.#open.delete(connection)
      if (this.#open.size > 0) return
      clearInterval(this.#heart)
      this.#heart = undefined
    })
  }

  /** Reserves a connection of the user. Dispose it when the connection ends. @throws ParleyError `rate_limited` at the limit */
  takeOf(user: string): Disposable {
    return this.#ofUsers.take(user)
  }

  /** Reserves a connection of the conversation; null at the limit. Dispose it when the connection ends. */
  take(id: ConversationId): Disposable | null {
    const taken = this.#perConversation.get(id) ?? 0
    if (taken >= this.limits.maxPerConversation) return null
    this.#perConversation.set(id, taken + 1)
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        const left = (this.#perConversation.get(id) ?? 1) - 1
        if (left === 0) this.#perConversation.delete(id)
        else this.#perConversation.set(id, left)
      },
    }
  }

  /** Closes all connections and waits until they are closed. */
  async shutDown(): Promise<void> {
    this.#isShuttingDown = true
    for (const connection of this.#open) connection.shutDown()
    const late = setTimeout(() => {
      for (const connection of this.#open) connection.destroy()
    }, GOODBYE_MS)
    while (this.#open.size > 0) await Promise.all([...this.#open].map((connection) => connection.closed))
    clearTimeout(late)
  }
}
