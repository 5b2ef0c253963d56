/**
 * Frames between a client of this node and a socket at the owner of the conversation. Frames are passed on as bytes, in both
 * directions at the pace of the reader; pings belong to each of the two connections.
 */
import type { IncomingMessage } from 'node:http'
import { WebSocket, type RawData } from 'ws'
import { type ConversationId, ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { SocketConnection } from '../live/socket-connection.ts'
import { frameHeader } from '../live/text-frame.ts'
import type { Forwarding } from './forwarding.ts'
import { HOP_HEADER } from './hop.ts'
import { isHopRefused, isNotOwner } from './not-owner.ts'
import type { OtherNode } from './owners.ts'
import { upgradeUrl } from '../live/upgrade-url.ts'

/** Milliseconds in which a node answers the handshake. */
const HANDSHAKE_MS = 5000
const KEY_HEADER = 'x-session-api-key'

/** The client connects again, and resumes after its last event. */
const OWNER_LEFT = { code: 1012, reason: 'Service restart' } as const
const TOO_MANY = { code: 1013, reason: 'Too many sockets of this user' } as const
const TRY_LATER = { code: 1013, reason: 'Try again later' } as const
const AUTHENTICATION_FAILED = { code: 4001, reason: 'Authentication failed' } as const
const REFUSED: Readonly<Record<number, { code: number; reason: string }>> = {
  403: AUTHENTICATION_FAILED,
  429: TOO_MANY,
}

export type SocketRequest = {
  id: ConversationId
  actor: Actor
  /** Undefined on a server without keys. */
  key: string | undefined
  request: IncomingMessage
}

/** Why there is no socket at the owner, as the close of the client's socket would say it. */
export type Ending = { code: number; reason: string }

/** A socket at the owner that is open and paused. Disposal stops watching the node. */
export type OwnerSocket = Disposable & { upstream: WebSocket }

/**
 * Opens a socket at the owner of a conversation; `here`: this node serves it. Never rejects.
 * @param url path and query of the socket
 */
export async function openAtOwner(
  asked: SocketRequest,
  url: string,
  { forwarding, log, signal }: { forwarding: Forwarding; log: Pick<Log, 'warn' | 'error'>; signal: AbortSignal },
): Promise<'here' | OwnerSocket | Ending> {
  const { id, actor, request } = asked
  try {
    let served = await forwarding.served(id, actor, request)
    for (let attempt = 1; typeof served !== 'string'; attempt += 1) {
      const to = served
      const upstream = connect(to, asked, url, forwarding)
      using guard = new DisposableStack()
      guard.use(forwarding.guard(to, () => upstream.terminate()))
      const opened = await handshakeOf(upstream, signal)
      const isTaken = opened === 'open' || typeof opened === 'number' || opened === 'hop_refused'
      forwarding.noteForward('socket', isTaken ? 'answered' : opened)
      if (opened === 'open') {
        const guarding = guard.move()
        return { upstream, [Symbol.dispose]: () => guarding.dispose() }
      }
      if (signal.aborted) return OWNER_LEFT
      log.warn({ conversation_id: id, node: to.node, attempt, outcome: opened }, 'socket not taken by the owner')
      if (opened === 'hop_refused') {
        log.error({ node: to.node }, 'hop refused: the nodes have different secret keys, or their clocks differ')
        return TRY_LATER
      }
      if (typeof opened === 'number') return REFUSED[opened] ?? TRY_LATER
      served = await forwarding.servedInstead(id, actor, request, attempt)
    }
    return served === 'here' ? 'here' : OWNER_LEFT
  } catch (err) {
    if (!signal.aborted && !(err instanceof ParleyError))
      log.error({ conversation_id: id, err }, 'socket not passed on')
    return TRY_LATER
  }
}

/**
 * Passes a socket on to the owner of its conversation until it ends; `here`: this node serves it. Never rejects.
 */
export async function relaySocket(
  connection: SocketConnection,
  asked: SocketRequest,
  forwarding: Forwarding,
  log: Pick<Log, 'warn' | 'error'>,
): Promise<'here' | 'ended'> {
  const url = upgradeUrl(asked.request)
  // The key goes in a header, because headers are not logged.
  url.searchParams.delete('session_api_key')
  const { signal } = connection
  const opened = await openAtOwner(asked, url.pathname + url.search, { forwarding, log, signal })
  if (opened === 'here') return 'here'
  if ('code' in opened) {
    connection.close(opened)
    return 'ended'
  }
  using socket = opened
  return await pass(connection, socket.upstream)
}

function connect(
  { url: base }: OtherNode,
  { key, request }: SocketRequest,
  url: string,
  forwarding: Forwarding,
): WebSocket {
  const { origin } = request.headers
  const hop = forwarding.hopTo(request, { method: 'GET', url })
  return new WebSocket(base.replace(/^http/, 'ws').replace(/\/$/, '') + url, {
    headers: { [HOP_HEADER]: hop, ...(origin && { origin }), ...(key !== undefined && { [KEY_HEADER]: key }) },
    perMessageDeflate: false,
    skipUTF8Validation: true,
    handshakeTimeout: HANDSHAKE_MS,
    // The owner has no limit for what it sends.
    maxPayload: 0,
  })
}

/** A number: the status of another refusal. */
type Handshake = 'open' | 'not_owner' | 'hop_refused' | 'unreached' | number

function handshakeOf(upstream: WebSocket, signal: AbortSignal): Promise<Handshake> {
  const { promise, resolve } = Promise.withResolvers<Handshake>()
  const cut = () => upstream.terminate()
  if (signal.aborted) cut()
  signal.addEventListener('abort', cut, { once: true })
  upstream.once('open', () => {
    // Nothing is read before it can be passed on.
    upstream.pause()
    resolve('open')
  })
  upstream.once('unexpected-response', (request, response: IncomingMessage) => {
    resolve(isNotOwner(response) ? 'not_owner' : isHopRefused(response) ? 'hop_refused' : (response.statusCode ?? 0))
    request.destroy()
  })
  upstream.on('error', () => resolve('unreached'))
  upstream.once('close', () => {
    signal.removeEventListener('abort', cut)
    resolve('unreached')
  })
  return promise
}

async function pass(connection: SocketConnection, upstream: WebSocket): Promise<'ended'> {
  const { writer, signal } = connection
  const { promise: ended, resolve } = Promise.withResolvers<'ended'>()
  let pieces: Buffer[] = []
  let isReading = true
  const flush = () => {
    writer.write(pieces)
    pieces = []
    if (writer.hasRoom || !isReading) return
    isReading = false
    upstream.pause()
    writer.room(signal).then(
      () => {
        isReading = true
        upstream.resume()
      },
      () => upstream.terminate(),
    )
  }
  upstream.on('message', (data) => {
    const bytes = bytesOf(data)
    // All frames of one packet are written together.
    if (pieces.length === 0) queueMicrotask(flush)
    pieces.push(frameHeader(bytes.length), bytes)
  })
  upstream.once('close', (code, reason) => {
    flush()
    connection.close(endingOf(code, reason))
    resolve('ended')
  })
  connection.onFrame(
    (data, isBinary) =>
      new Promise((sent) => {
        // The owner has left: its close ends this connection, too.
        upstream.send(data, { binary: isBinary }, () => sent())
      }),
  )
  if (signal.aborted) upstream.terminate()
  else upstream.resume()
  return ended
}

/** How the owner ended a socket. 1005 and 1006 stand for a missing close frame, and are never sent. */
export const endingOf = (code: number, reason: Buffer): Ending =>
  code === 1005 || code === 1006 ? OWNER_LEFT : { code, reason: String(reason) }

export const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)
