/**
 * The socket of pages: `/sockets/watch`. It carries the frames of several conversations, and the feed of the user. Source: docs/events.md, One
 * socket for many conversations.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Quotas } from '../../quotas/index.ts'
import type { Client, Handshakes } from './handshake.ts'
import type { SocketConnection } from './socket-connection.ts'
import { endedFrame, problemFrame, readWatchRequest, type Subject, type WatchRequest } from './watch-frame.ts'
import { followConversation, followFeed, type SubscriptionDeps, type Watching } from './watch-subscription.ts'

/** Subscriptions of one socket. */
const MAX_SUBSCRIPTIONS = 64
/** Bytes of a frame of a client: a subscription is short. */
const FRAME_LIMIT_BYTES = 8 * 1024

export type WatchSocketDeps = SubscriptionDeps & {
  handshakes: Handshakes
  /** Counts frames as requests of their user. */
  requests: Quotas['requests']
}

export class WatchSockets {
  readonly #deps: WatchSocketDeps

  constructor(deps: WatchSocketDeps) {
    this.#deps = deps
  }

  /** True for an upgrade request to this socket. */
  static isFor(request: IncomingMessage): boolean {
    return /^\/sockets\/watch\/?(?:\?|$)/.test(request.url ?? '')
  }

  /** Answers an upgrade request with a socket or a bare 403. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    await this.#deps.handshakes.answer(request, socket, head, {
      serve: async (connection, client) => new WatchedSubjects(connection, client, request, this.#deps).serve(),
      frameLimitBytes: FRAME_LIMIT_BYTES,
    })
  }
}

/** The subscriptions of one socket. */
class WatchedSubjects {
  readonly #connection: SocketConnection
  readonly #watching: Watching
  readonly #deps: WatchSocketDeps
  readonly #open = new Map<Subject, AbortController>()

  constructor(connection: SocketConnection, client: Client, request: IncomingMessage, deps: WatchSocketDeps) {
    this.#connection = connection
    this.#watching = { writer: connection.writer, client, request }
    this.#deps = deps
  }

  serve(): void {
    this.#connection.onFrame((data, isBinary) => this.#receive(data, isBinary))
  }

  async #receive(data: Buffer, isBinary: boolean): Promise<void> {
    const refusal = this.#deps.requests.refusalOf(this.#watching.client.actor.user)
    if (refusal !== null) return this.#refuse(refusal.message)
    const request = await readWatchRequest(data, isBinary)
    switch (request.kind) {
      case 'auth':
        return
      case 'problem':
        return this.#refuse(request.detail)
      case 'unsubscribe':
        this.#open.get(request.subject)?.abort(new Error('unsubscribed'))
        return void this.#open.delete(request.subject)
      case 'subscribe':
        return this.#subscribe(request)
    }
  }

  /** Another subscription to the same subject takes the place of the first one. */
  #subscribe(request: Extract<WatchRequest, { kind: 'subscribe' }>): void {
    const { subject } = request
    this.#open.get(subject)?.abort(new Error('replaced'))
    if (!this.#open.has(subject) && this.#open.size >= MAX_SUBSCRIPTIONS)
      return this.#refuse(`A socket has at most ${MAX_SUBSCRIPTIONS} subscriptions: end another one first`)
    const ending = new AbortController()
    this.#open.set(subject, ending)
    void this.#follow(request, ending)
  }

  async #follow(request: Extract<WatchRequest, { kind: 'subscribe' }>, ending: AbortController): Promise<void> {
    const { subject } = request
    const signal = AbortSignal.any([ending.signal, this.#connection.signal])
    try {
      const ended =
        subject === 'feed'
          ? await followFeed(request.after, this.#watching, this.#deps, signal)
          : await followConversation({ id: subject, after: request.after ?? 0 }, this.#watching, this.#deps, signal)
      this.#connection.writer.write([endedFrame(subject, ended)])
    } catch (error) {
      if (!signal.aborted) this.#deps.log.error({ err: error }, 'subscription failed unexpectedly')
    } finally {
      if (this.#open.get(subject) === ending) this.#open.delete(subject)
    }
  }

  #refuse(detail: string): void {
    this.#connection.writer.write([problemFrame(detail)])
  }
}
