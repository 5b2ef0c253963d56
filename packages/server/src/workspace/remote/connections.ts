/**
 * The HTTP connections of one remote workspace: a bounded pool with a read timeout.
 *
 * It replaces the runtime's own `fetch`, which cannot limit the number of connections and gives up on an answer that does not
 * begin within five minutes, regardless of `read_timeout`.
 */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { nodeHttp, nodeHttps, onSilence } from '../../lib/index.ts'

/** Milliseconds to wait for a connection. Source: agent-core.md 12.9. */
const CONNECT_MS = 10_000
/** Milliseconds an unused connection is kept. */
const IDLE_MS = 30_000
const MAX_TIMER_MS = 2 ** 31 - 1
const BODYLESS = new Set([204, 205, 304])

export type ConnectionsOptions = {
  /** Milliseconds without a byte after which a request fails. */
  readTimeoutMs: number
  /** Concurrent connections; further requests wait for a free one. Null: no limit. */
  maxConnections: number | null
}

export interface Connections extends Disposable {
  readonly fetch: typeof globalThis.fetch
}

/** No byte arrived within the read timeout. */
export class ReadTimeout extends Error {
  constructor(ms: number) {
    super(`no data was received for ${ms / 1000} s`)
    this.name = 'ReadTimeout'
  }
}

/** Opens no connection before the first request. Idle connections do not keep the process alive; disposal closes all. */
export function openConnections({ readTimeoutMs, maxConnections }: ConnectionsOptions): Connections {
  const pool = {
    keepAlive: true,
    timeout: IDLE_MS,
    scheduling: 'lifo',
    maxSockets: maxConnections ?? Infinity,
  } as const
  const [http, https] = [nodeHttp(), nodeHttps()]
  const agents = { 'http:': new http.Agent(pool), 'https:': new https.Agent(pool) }
  const timeoutMs = Math.min(readTimeoutMs, MAX_TIMER_MS)

  function send(url: URL, init: RequestInit): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const isSecure = url.protocol === 'https:'
    const agent = isSecure ? agents['https:'] : agents['http:']
    const headers = { ...(init.headers as Record<string, string>) }
    const body = init.body as string | Uint8Array | undefined
    if (init.method !== 'GET') headers['Content-Length'] = String(Buffer.byteLength(body ?? ''))
    const outgoing = (isSecure ? https : http).request(url, {
      method: init.method ?? 'GET',
      headers,
      agent,
      timeout: timeoutMs,
    })
    let answer: IncomingMessage | null = null
    // Once there is an answer, the error goes to its reader. A request that waits for a connection reports its own end only when
    // it gets one, so the promise is rejected here.
    const fail = (error: Error) => {
      reject(error)
      ;(answer ?? outgoing).destroy(error)
    }
    const signal = init.signal ?? undefined
    const onAbort = () => fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
    signal?.addEventListener('abort', onAbort, { once: true })
    outgoing.once('close', () => signal?.removeEventListener('abort', onAbort))
    onSilence(outgoing, () => fail(new ReadTimeout(timeoutMs)))
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return
      const late = setTimeout(() => fail(new Error(`no connection within ${CONNECT_MS / 1000} s`)), CONNECT_MS)
      socket.once('connect', () => clearTimeout(late))
      socket.once('close', () => clearTimeout(late))
    })
    outgoing.once('response', (incoming) => {
      answer = incoming
      resolve(incoming)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
    return promise
  }

  return {
    fetch: async (input, init = {}) => {
      init.signal?.throwIfAborted()
      const answer = await send(new URL(input instanceof Request ? input.url : input), init)
      const status = answer.statusCode ?? 500
      if (BODYLESS.has(status)) answer.resume()
      const body = BODYLESS.has(status) ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
      const headers = new Headers()
      for (const [name, values] of Object.entries(answer.headersDistinct)) {
        for (const value of values ?? []) headers.append(name, value)
      }
      return new Response(body, { status, headers })
    },
    [Symbol.dispose]() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}
