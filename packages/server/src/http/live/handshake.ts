/** The handshake of all sockets. Source: agent-server-wire.md 2.2. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { type Auth, actorOf, isForeign, presentedKey } from '../core/auth.ts'
import { type IsOurHost, isSameOrigin } from '../core/hosts.ts'
import type { Connections } from './connections.ts'
import { firstKey } from './first-frame.ts'
import type { KeyWatch } from './key-watch.ts'
import { SocketConnection } from './socket-connection.ts'

export const AUTHENTICATION_FAILED = { code: 4001, reason: 'Authentication failed' } as const

export type HandshakeDeps = {
  auth: Auth
  connections: Connections
  keyWatch: KeyWatch
  isAllowedOrigin: (origin: string) => boolean
  isOurHost: IsOurHost
  /** Accepts a key in the URL, as existing clients send it. */
  takesKeyInUrl: boolean
  /** Largest frame from a client, in bytes. */
  frameLimitBytes: number
  log: Log
}

/** `actor` is undefined until the first frame presents a key. */
export type Serve = (connection: SocketConnection, actor: Actor | undefined) => Promise<void>

/** Upgrades requests to sockets. */
export class Handshakes {
  readonly #deps: HandshakeDeps
  readonly #server: WebSocketServer

  constructor(deps: HandshakeDeps) {
    this.#deps = deps
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      maxPayload: deps.frameLimitBytes,
    })
  }

  /** Answers an upgrade request: with a socket, which `serve` handles, or with a bare 403 when `serve` is null. Never rejects. */
  async answer(request: IncomingMessage, socket: Duplex, head: Buffer, serve: Serve | null): Promise<void> {
    // Without a listener a reset during the handshake would end the process.
    socket.on('error', () => socket.destroy())
    const { auth, connections, isAllowedOrigin, takesKeyInUrl, log } = this.#deps
    try {
      const isOpen = auth.noKeys !== undefined
      if (serve === null || (isOpen && isForeign(request.headers, isAllowedOrigin))) return refuse(socket)
      if (this.#isStrangersPage(request)) return refuse(socket)
      // The key in the query takes precedence over the header, even when it is wrong or empty.
      const query = new URL(request.url ?? '/', 'http://parley').searchParams
      if (!takesKeyInUrl && query.has('session_api_key')) return refuse(socket)
      const key = query.get('session_api_key') ?? presentedKey(request.headers)
      const actor = isOpen || key !== undefined ? await actorOf(key, auth, request.socket.remoteAddress) : undefined
      if (actor === null || socket.destroyed) return refuse(socket)
      this.#server.handleUpgrade(request, socket, head, (ws) => {
        const connection = new SocketConnection(ws, socket, connections.limits)
        connections.add(connection)
        if (actor !== undefined && !isOpen) this.#guard(connection, actor, key)
        void serve(connection, actor)
      })
    } catch (error) {
      log.error({ err: error }, 'socket not opened')
      refuse(socket)
    }
  }

  /** Browsers do not apply CORS to sockets, so the server does: an origin that may not read answers may not open sockets. */
  #isStrangersPage({ headers: { origin, host } }: IncomingMessage): boolean {
    const { isAllowedOrigin, isOurHost } = this.#deps
    if (origin === undefined || isAllowedOrigin(origin)) return false
    return !(isSameOrigin(origin, host) && isOurHost(host))
  }

  /** The actor of the key in the first frame; null when it is late or has no valid key. */
  async introduced(connection: SocketConnection): Promise<Actor | null> {
    const { auth, connections } = this.#deps
    const key = firstKey(await connection.nextFrame(connections.limits.authMs))
    if (key === undefined) return null
    const actor = await actorOf(key, auth, connection.peerAddress)
    if (actor !== null) this.#guard(connection, actor, key)
    return actor
  }

  #guard(connection: SocketConnection, actor: Actor, key: string | undefined): void {
    this.#deps.keyWatch.guard(actor, key, () => connection.close(AUTHENTICATION_FAILED), connection.closed)
  }
}

function refuse(socket: Duplex): void {
  if (socket.writable) socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
}
