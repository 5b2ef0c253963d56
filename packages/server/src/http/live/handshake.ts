/** How a socket is let in, whatever it carries. Source: agent-server-wire.md 2.2. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import { type Auth, actorOf, isForeign, presentedKey } from '../auth.ts'
import { type IsOurHost, isSameOrigin } from '../hosts.ts'
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
  /** Absent: a page of this server's own origin is let in under any host name. */
  isOurHost?: IsOurHost | undefined
  /** False: a key in the address lets nobody in. Absent: it does, as existing clients send it. */
  takesKeyInUrl?: boolean | undefined
  /** Largest frame from a client, in bytes. */
  frameLimitBytes: number
  log: Log
}

/** `actor` is undefined while the socket has not said who it is; its first frame has to. */
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

  /** Answers an upgrade request: a socket that `serve` takes over, or a bare 403 where `serve` is null. Never rejects. */
  async answer(request: IncomingMessage, socket: Duplex, head: Buffer, serve: Serve | null): Promise<void> {
    // Without a listener a reset during the handshake would end the process.
    socket.on('error', () => socket.destroy())
    const { auth, connections, isAllowedOrigin, takesKeyInUrl = true, log } = this.#deps
    try {
      const isOpen = auth.noKeys !== undefined
      if (serve === null || (isOpen && isForeign(request.headers, isAllowedOrigin))) return refuse(socket)
      if (this.#isStrangersPage(request)) return refuse(socket)
      // The query's key wins over the header's, even when it is wrong or empty.
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
      log.error({ err: error }, 'a socket could not be opened')
      refuse(socket)
    }
  }

  /** Browsers hold sockets to no rule of origins, so the server does: what may not read answers may open none. */
  #isStrangersPage({ headers: { origin, host } }: IncomingMessage): boolean {
    const { isAllowedOrigin, isOurHost } = this.#deps
    if (origin === undefined || isAllowedOrigin(origin)) return false
    return !(isSameOrigin(origin, host) && (isOurHost === undefined || isOurHost(host)))
  }

  /** Whom the first frame names; null when it is late or names nobody. */
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
