/**
 * The events socket: `/sockets/events/{conversation_id}`. Source: agent-server-wire.md 2. `/sockets/session/{conversation_id}` is
 * the same with sequenced frames after the requested `seq`; by default from the beginning.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ConversationId, laxConversationId, ParleyError } from '@parley/protocol'
import { hasMoved, type Actor, type Conversations } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import type { AuditLog } from '../../storage/index.ts'
import { isNotFound, toAnswer } from '../core/errors.ts'
import { readClientFrame, serverError } from './client-frame.ts'
import type { Connections } from './connections.ts'
import { encodeSequenced, encodeSession, encodeWire, refused } from './encode.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import { relaySocket } from '../forward/socket-relay.ts'
import type { Client, Handshakes, Purpose } from './handshake.ts'
import { readPlace, readResend, type Resend, startOf } from './resend.ts'
import type { SocketConnection } from './socket-connection.ts'
import { textFrame } from './text-frame.ts'
import { upgradeUrl } from './upgrade-url.ts'

export type SocketDeps = {
  conversations: Conversations
  forwarding: Forwarding
  handshakes: Handshakes
  connections: Connections
  /** Counts frames as requests of their user. */
  requests: Quotas['requests']
  /** Largest frame of a client, in bytes. */
  frameLimitBytes: number
  log: Log
  audit: AuditLog
}

/** Action in the audit log for a message over a socket. */
const ACTION = 'MESSAGE /sockets/events/{conversation_id}'

const NOT_FOUND = { code: 4004, reason: 'Conversation not found' } as const
const TOO_MANY = { code: 1013, reason: 'Too many connections for this conversation' } as const
const TRY_LATER = { code: 1013, reason: 'Try again later' } as const
const MOVED = { code: 1012, reason: 'Service restart' } as const
const FAILED = { code: 1011, reason: 'Internal Server Error' } as const

/** What a socket shows. `isSession`: the session socket, which has all frames. */
type Wanted = { id: ConversationId; resend: Resend; isSession: boolean }

/** Handles upgrade requests of the HTTP server. */
export class EventSockets {
  readonly #deps: SocketDeps

  constructor(deps: SocketDeps) {
    this.#deps = deps
  }

  /** Answers an upgrade request with a socket or a bare 403. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = upgradeUrl(request)
    const [, kind, name] = /^\/sockets\/(events|session)\/([^/]+)\/?$/.exec(url.pathname) ?? []
    const id = laxConversationId().safeParse(name)
    const resend = kind === 'session' ? readPlace(url.searchParams) : readResend(url.searchParams)
    const isKnown = id.success && resend !== null
    const { handshakes, frameLimitBytes } = this.#deps
    const purpose: Purpose | null = isKnown
      ? {
          serve: (connection, client) =>
            this.#serveAtOwner(connection, { id: id.data, resend, isSession: kind === 'session' }, client, request),
          frameLimitBytes,
        }
      : null
    await handshakes.answer(request, socket, head, purpose)
  }

  async #serveAtOwner(
    connection: SocketConnection,
    wanted: Wanted,
    client: Client,
    request: IncomingMessage,
  ): Promise<void> {
    const { forwarding, log } = this.#deps
    const { id } = wanted
    const isElsewhere =
      forwarding.isShared && (await relaySocket(connection, { id, ...client, request }, forwarding, log)) === 'ended'
    if (!isElsewhere) await this.#serve(connection, wanted, client.actor)
  }

  async #serve(connection: SocketConnection, { id, resend, isSession }: Wanted, actor: Actor): Promise<void> {
    const { connections, conversations, log } = this.#deps
    try {
      using place = connections.take(id)
      if (place === null) return connection.close(TOO_MANY)
      const { signal } = connection
      const after = await startOf(resend, id, actor, conversations)
      await using watcher = await conversations.watch(id, after, actor, signal)
      connection.onFrame((data, isBinary) => this.#receive(connection, id, actor, data, isBinary))
      const encode = isSession ? encodeSession : resend.kind === 'after_seq' ? encodeSequenced : encodeWire
      await connection.writer.pump(watcher, encode, signal)
      if (resend.kind === 'after_seq') connection.writer.write([textFrame(refused(NOT_FOUND.reason))])
      connection.close(NOT_FOUND)
    } catch (error) {
      if (connection.signal.aborted) return
      if (isNotFound(error, 'conversation')) return connection.close(NOT_FOUND)
      if (error instanceof ParleyError) return connection.close(hasMoved(error) ? MOVED : TRY_LATER)
      log.error({ err: error, conversation_id: id }, 'socket failed unexpectedly')
      connection.close(FAILED)
    }
  }

  /** Handles a message of the client. Its errors are sent to this client only, and the socket stays open. */
  async #receive(
    connection: SocketConnection,
    id: ConversationId,
    actor: Actor,
    data: Buffer,
    isBinary: boolean,
  ): Promise<void> {
    const problem = (code: string, detail: string) => connection.writer.write([textFrame(serverError(code, detail))])
    const refusal = this.#deps.requests.refusalOf(actor.user)
    if (refusal !== null) return problem('ParleyError', refusal.message)
    const frame = await readClientFrame(data, isBinary)
    if (frame.kind === 'auth') return
    if (frame.kind === 'problem') return problem(frame.code, frame.detail)
    const done = (status: number) => this.#deps.audit.note({ action: ACTION, actor, status, conversationId: id })
    if (actor.role === 'read-only') return (done(403), problem('PermissionError', 'This key may only read'))
    try {
      await this.#deps.conversations.send(id, { kind: 'send_message', content: frame.content, run: true }, actor)
      done(200)
    } catch (error) {
      done(toAnswer(error, this.#deps.log).status)
      if (error instanceof ParleyError) return problem('ParleyError', error.message)
      problem(error instanceof Error ? error.constructor.name : 'Error', 'Internal Server Error')
    }
  }
}
