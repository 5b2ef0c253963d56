/** One request to another node, and its answer as it arrives. */
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { nodeHttp, nodeHttps } from '../../lib/index.ts'
import { isNotOwner } from './not-owner.ts'

/** Milliseconds in which a node accepts a connection. */
const CONNECT_MS = 3000
/** Connections to one node that stay open without a request. */
const MAX_IDLE = 64

export type Outgoing = {
  method: string
  /** Path and query. */
  url: string
  headers: Record<string, string | string[]>
  body: Buffer | Readable | undefined
}

/**
 * `answered`: the node has taken the request. `not_owner`, `unreached`: it has not, and the body is not read. `lost`: it is not
 * known whether it has.
 */
export type Outcome =
  | { kind: 'answered'; response: IncomingMessage }
  | { kind: 'not_owner' | 'unreached' | 'lost'; error?: Error }

/** Connections to other nodes, which stay open between requests. */
export class NodeConnections implements Disposable {
  #plain: Agent | undefined
  #encrypted: Agent | undefined

  /** Begins a request to a node. `base`: its address in the store. */
  open(base: string, { method, url, headers }: Omit<Outgoing, 'body'>): ClientRequest {
    const { protocol, hostname, port, pathname } = new URL(base)
    const isEncrypted = protocol === 'https:'
    const path = pathname.replace(/\/$/, '') + url
    const to = { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port, path, method, headers, setHost: true }
    const kept = { keepAlive: true, maxFreeSockets: MAX_IDLE }
    if (!isEncrypted) return nodeHttp().request({ ...to, agent: (this.#plain ??= new (nodeHttp().Agent)(kept)) })
    return nodeHttps().request({ ...to, agent: (this.#encrypted ??= new (nodeHttps().Agent)(kept)) })
  }

  [Symbol.dispose](): void {
    this.#plain?.destroy()
    this.#encrypted?.destroy()
  }
}

/**
 * Sends a request. A body that is a stream is read only after the node has taken the request, so that it can be sent to another one
 * instead. Never rejects.
 * @param signal ends the request, also while its answer arrives
 */
export function sendTo(
  connections: NodeConnections,
  base: string,
  outgoing: Outgoing,
  signal: AbortSignal,
): Promise<Outcome> {
  const { body } = outgoing
  const isStream = body !== undefined && !Buffer.isBuffer(body)
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  let request: ClientRequest
  try {
    request = connections.open(base, outgoing)
  } catch (error) {
    return Promise.resolve({ kind: 'unreached', error: error as Error })
  }
  let isConnected = false
  // Without its body, a request has no effect.
  let isWhole = false
  const cut = () => request.destroy(new Error('the request was given up'))
  if (signal.aborted) cut()
  signal.addEventListener('abort', cut, { once: true })
  const late = setTimeout(() => isConnected || request.destroy(new Error('no connection in time')), CONNECT_MS)
  request.once('socket', (socket) => {
    const connected = () => {
      isConnected = true
      isWhole ||= !isStream
    }
    if (!socket.connecting) return connected()
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
  })
  request.once('error', (error) => resolve({ kind: isWhole ? 'lost' : 'unreached', error }))
  request.once('close', () => {
    clearTimeout(late)
    signal.removeEventListener('abort', cut)
    resolve({ kind: isWhole ? 'lost' : 'unreached' })
  })
  request.once('response', (response) => {
    // A node that refuses the request does not read its body, so the connection cannot be used again.
    response.once('end', () => request.writableEnded || request.destroy())
    if (!isNotOwner(response)) return resolve({ kind: 'answered', response })
    response.resume()
    resolve({ kind: 'not_owner' })
  })
  if (!isStream) request.end(body)
  else {
    request.once('continue', () => {
      isWhole = true
      // A client that goes away in the middle of its body has sent no request.
      body.once('close', () => body.readableEnded || request.destroy())
      body.pipe(request)
    })
    request.flushHeaders()
  }
  return promise
}

/** Headers about one connection, which are not passed on (RFC 9110, 7.6.1). */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The headers of a request or an answer, without those of its connection. */
export function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !OF_CONNECTION.has(name)) passed[name] = value
  return passed
}
