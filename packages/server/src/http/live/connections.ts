/** Every open live connection: counted per conversation, kept alive, cut off when stuck, and closed with the server. */
import type { ConversationId } from '@parley/protocol'

export type LiveLimits = {
  /** Connections of one conversation. */
  maxPerConversation: number
  /** Between two pings, and the time a ping may stay unanswered. */
  pingMs: number
  /** Longest time a connection may leave untaken bytes where they are. */
  stallMs: number
  /** Longest wait for the first frame of a socket that presented no key. */
  authMs: number
}

/** Source: agent-server-wire.md 2.2, 2.6 and 10.1; room for more readers than upstream's 50, since a slow one costs nothing here. */
export const LIVE_LIMITS: LiveLimits = { maxPerConversation: 500, pingMs: 20_000, stallMs: 30_000, authMs: 10_000 }

export interface LiveConnection {
  /** Called every few seconds: ping, notice silence, cut off. */
  beat(now: number): void
  /** The server goes away. */
  shutDown(): void
  /** Resolves when the peer is gone. */
  readonly closed: Promise<void>
  /** Ends it without a goodbye. */
  destroy(): void
}

/** Longest wait for peers to say goodbye at shutdown. */
const GOODBYE_MS = 2000

export class Connections {
  readonly limits: LiveLimits
  readonly #open = new Set<LiveConnection>()
  readonly #perConversation = new Map<ConversationId, number>()
  #heart: NodeJS.Timeout | undefined
  #isShuttingDown = false

  constructor(limits: Partial<LiveLimits> = {}) {
    this.limits = { ...LIVE_LIMITS, ...limits }
  }

  get count(): number {
    return this.#open.size
  }

  /** Keeps `connection` until it is closed. One timer serves all of them, and stops with the last. */
  add(connection: LiveConnection): void {
    this.#open.add(connection)
    this.#heart ??= setInterval(
      () => {
        const now = Date.now()
        for (const open of this.#open) open.beat(now)
      },
      Math.min(this.limits.pingMs, this.limits.stallMs) / 4,
    ).unref()
    // Its handshake was under way when the goodbyes were said.
    if (this.#isShuttingDown) connection.shutDown()
    void connection.closed.then(() => {
      this.#open.delete(connection)
      if (this.#open.size > 0) return
      clearInterval(this.#heart)
      this.#heart = undefined
    })
  }

  /** A place on the conversation; null when it has no more. Dispose it when the connection ends. */
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

  /** Says goodbye to everyone and waits until they are gone. */
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
