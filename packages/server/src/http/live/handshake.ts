/** The handshake of all sockets. Source: agent-server-wire.md 2.2. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { addressOf, type Auth, actorOf, isForeign, presentedKey } from '../core/auth.ts'
import { type IsOurHost, isSameOrigin } from '../core/hosts.ts'
import type { Connections } from './connections.ts'
import { firstKey } from './first-frame.ts'
import type { KeyWatch } from './key-watch.ts'
import { SocketConnection } from './socket-connection.ts'
import { type Full, UnauthenticatedSockets } from './unauthenticated.ts'
import { upgradeUrl } from './upgrade-url.ts'

const AUTHENTICATION_FAILED = { code: 4001, reason: 'Authentication failed' } as const

export type HandshakeDeps = {
  auth: Auth
  connections: Connections
  keyWatch: KeyWatch
  isAllowedOrigin: (origin: string) => boolean
  isOurHost: IsOurHost
  /** Accepts a key in the URL, as existing clients send it. */
  takesKeyInUrl: boolean
  log: Log
}

/** The client of an open socket. `key`: undefined on a server without keys. */
export type Client = { actor: Actor; key: string | undefined }

/** Handles an open socket. */
type Serve = (connection: SocketConnection, client: Client) => Promise<void>

/** What an upgrade request is for. `frameLimitBytes`: largest frame of a client whose key is known. */
export type Purpose = { serve: Serve; frameLimitBytes: number }

const TOO_MANY = { code: 1013, reason: 'Too many sockets of this user' } as const
const FAILED = { code: 1011, reason: 'Internal Server Error' } as const

/** Upgrades requests to sockets. */
export class Handshakes {
  readonly #deps: HandshakeDeps
  readonly #unauthenticated: UnauthenticatedSockets
  /** By the largest frame that they accept. */
  readonly #servers = new Map<number, WebSocketServer>()

  constructor(deps: HandshakeDeps) {
    this.#deps = deps
    this.#unauthenticated = new UnauthenticatedSockets(deps.connections.limits)
  }

  /**
   * Answers an upgrade request: with a socket for `purpose`, with 429 or 503 when too many sockets without a key are open, and
   * with a bare 403 otherwise. Never rejects.
   */
  async answer(request: IncomingMessage, socket: Duplex, head: Buffer, purpose: Purpose | null): Promise<void> {
    // Without a listener a reset during the handshake would end the process.
    socket.on('error', () => socket.destroy())
    const { auth, isAllowedOrigin, takesKeyInUrl, log } = this.#deps
    try {
      const isOpen = auth.noKeys !== undefined
      if (purpose === null || (isOpen && isForeign(request.headers, isAllowedOrigin))) return refuse(socket)
      if (this.#isStrangersPage(request)) return refuse(socket)
      // The key in the query takes precedence over the header, even when it is wrong or empty.
      const query = upgradeUrl(request).searchParams
      if (!takesKeyInUrl && query.has('session_api_key')) return refuse(socket)
      const key = query.get('session_api_key') ?? presentedKey(request.headers)
      const address = addressOf(request, auth)
      if (!isOpen && key === undefined) return this.#openUnknown(request, socket, head, { purpose, address })
      const actor = await actorOf(key, auth, address)
      if (actor === null || socket.destroyed) return refuse(socket)
      const place = this.#placeOf(actor)
      if (place instanceof ParleyError) return refuseForNow(socket, '429 Too Many Requests', place.message)
      socket.once('close', () => place[Symbol.dispose]())
      this.#upgrade(request, socket, head, { purpose, most: purpose.frameLimitBytes }, async (connection) => {
        if (!isOpen) this.#guard(connection, actor, key)
        await purpose.serve(connection, { actor, key: isOpen ? undefined : key })
      })
    } catch (error) {
      log.error({ err: error }, 'socket not opened')
      refuse(socket)
    }
  }

  /** Opens a socket whose key comes in its first frame. */
  #openUnknown(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { purpose, address }: { purpose: Purpose; address: string | undefined },
  ): void {
    const place = this.#unauthenticated.take(address)
    if (typeof place === 'string') return refuseForNow(socket, BUSY[place].status, BUSY[place].detail)
    const leave = () => place[Symbol.dispose]()
    socket.once('close', leave)
    const most = this.#deps.connections.limits.firstFrameBytes
    this.#upgrade(request, socket, head, { purpose, most }, async (connection) => {
      const client = await this.#introduced(connection, address)
      if (client === null) return
      leave()
      const ofUser = this.#placeOf(client.actor)
      if (ofUser instanceof ParleyError) return connection.close(TOO_MANY)
      void connection.closed.then(() => ofUser[Symbol.dispose]())
      await purpose.serve(connection, client)
    })
  }

  /** @param limit `most`: the largest frame in bytes until the key is known */
  #upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { purpose, most }: { purpose: Purpose; most: number },
    serve: (connection: SocketConnection) => Promise<void>,
  ): void {
    const { connections, log } = this.#deps
    this.#serverFor(most).handleUpgrade(request, socket, head, (ws) => {
      const connection = new SocketConnection(ws, socket, connections.limits, purpose.frameLimitBytes)
      connections.add(connection)
      serve(connection).catch((error: unknown) => {
        if (connection.signal.aborted) return
        log.error({ err: error }, 'socket failed unexpectedly')
        connection.refuse(FAILED)
      })
    })
  }

  /** Reserves a socket of the user; the refusal at the limit. */
  #placeOf({ user }: Actor): Disposable | ParleyError {
    try {
      return this.#deps.connections.takeOf(user)
    } catch (error) {
      if (error instanceof ParleyError) return error
      throw error
    }
  }

  #serverFor(maxPayload: number): WebSocketServer {
    let server = this.#servers.get(maxPayload)
    if (server === undefined) {
      server = new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false, maxPayload })
      this.#servers.set(maxPayload, server)
    }
    return server
  }

  /** Browsers do not apply CORS to sockets, so the server does: an origin that may not read answers may not open sockets. */
  #isStrangersPage({ headers: { origin, host } }: IncomingMessage): boolean {
    const { isAllowedOrigin, isOurHost } = this.#deps
    if (origin === undefined || isAllowedOrigin(origin)) return false
    return !(isSameOrigin(origin, host) && isOurHost(host))
  }

  /** The client by the key in the first frame; null when the socket was refused, or has ended. A failure counts like a wrong key. */
  async #introduced(connection: SocketConnection, address: string | undefined): Promise<Client | null> {
    const { auth, connections } = this.#deps
    const frame = await connection.firstFrame(connections.limits.authMs)
    if (frame === 'gone') return null
    const key = frame === 'failed' ? undefined : await firstKey(frame)
    if (key === undefined || key === '') auth.guesses?.wasWrong(undefined, address)
    const actor = key === undefined ? null : await actorOf(key, auth, address)
    if (actor === null) {
      connection.refuse(AUTHENTICATION_FAILED)
      return null
    }
    this.#guard(connection, actor, key)
    return { actor, key }
  }

  #guard(connection: SocketConnection, actor: Actor, key: string | undefined): void {
    this.#deps.keyWatch.guard(actor, key, () => connection.close(AUTHENTICATION_FAILED), connection.closed)
  }
}

function refuse(socket: Duplex): void {
  if (socket.writable) socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}

/** Seconds after which places are free at the latest. */
const RETRY_AFTER_SECONDS = 10

const BUSY: Record<Full, { status: string; detail: string }> = {
  address: {
    status: '429 Too Many Requests',
    detail: 'Too many sockets without a key from this address. Send the key in a header, or try again later.',
  },
  server: {
    status: '503 Service Unavailable',
    detail: 'Too many sockets without a key. Send the key in a header, or try again later.',
  },
}

/** Refuses an upgrade that may be asked for again. */
function refuseForNow(socket: Duplex, status: string, detail: string): void {
  if (!socket.writable) return
  const body = JSON.stringify({ detail })
  const headers = [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    `Retry-After: ${RETRY_AFTER_SECONDS}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}
