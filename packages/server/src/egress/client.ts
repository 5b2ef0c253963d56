/**
 * HTTP requests over the agents of a policy. Redirects are not followed: the caller decides about each address.
 *
 * It replaces the runtime's own `fetch`, whose connections cannot be checked or limited in number, which gives up on an answer that
 * is silent for five minutes, and which costs about twice the processor time per request.
 */
import type { IncomingMessage } from 'node:http'
import { nodeHttp, nodeHttps, onSilence, VERSION } from '../lib/index.ts'
import type { Agents } from './agents.ts'

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export type ClientOptions = {
  agents: Agents
  /** Milliseconds without a byte in either direction after which a request fails; null waits forever. */
  silence?: { ms: number; error: (ms: number) => Error } | null
  /** Milliseconds to wait for a connection; absent: as long as the system waits. */
  connectMs?: number
  /** Sends a request again when the server closed the kept connection instead of reading it. */
  resends?: boolean
}

const STALE = new Set(['ECONNRESET', 'EPIPE'])
const BODYLESS = new Set([204, 205, 304])
const DEFAULT_HEADERS = { accept: '*/*', 'user-agent': `parley/${VERSION}` }

/** Accepts bodies of text and bytes. With `redirect: 'error'`, a redirect is a failure; otherwise it is an answer. */
export function clientOf(options: ClientOptions): Fetch {
  return async (input, init = {}) => {
    init.signal?.throwIfAborted()
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError('it is no http or https address')
    const answer = await send(url, init, options)
    const { statusCode = 500 } = answer
    if (init.redirect === 'error' && statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
      answer.destroy()
      throw new TypeError('the server answered with a redirect, which is not followed')
    }
    return toResponse(answer)
  }
}

function send(url: URL, init: RequestInit, options: ClientOptions): Promise<IncomingMessage> {
  const { agents, silence = null, connectMs, resends = false } = options
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { method = 'GET', signal } = init
  const body = bodyOf(init)
  const { request } = url.protocol === 'https:' ? nodeHttps() : nodeHttp()
  const headers = {
    ...DEFAULT_HEADERS,
    ...headersOf(init),
    ...(method === 'GET' && body === undefined ? {} : { 'content-length': Buffer.byteLength(body ?? '') }),
  }
  const outgoing = request(url, { method, headers, agent: agents.for(url), timeout: silence?.ms ?? 0 })
  let answer: IncomingMessage | null = null
  // Once there is an answer, the error goes to its reader. A request that waits for a connection reports its own end only when it
  // gets one, so the promise is rejected here.
  const fail = (error: Error) => {
    reject(error)
    ;(answer ?? outgoing).destroy(error)
  }
  const onAbort = () =>
    fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason }))
  signal?.addEventListener('abort', onAbort, { once: true })
  outgoing.once('close', () => signal?.removeEventListener('abort', onAbort))
  if (silence !== null) onSilence(outgoing, () => fail(silence.error(silence.ms)))
  if (connectMs !== undefined) {
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return
      const late = setTimeout(() => fail(new Error(`no connection within ${connectMs / 1000} s`)), connectMs)
      for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(late))
    })
  }
  outgoing.once('response', (incoming) => {
    answer = incoming
    resolve(incoming)
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    // The server closed a kept connection while it was idle: it did not read the request, so it is sent again.
    const isStale = resends && outgoing.reusedSocket && STALE.has(error.code ?? '') && !signal?.aborted
    if (isStale) send(url, init, options).then(resolve, reject)
    else reject(error)
  })
  outgoing.end(body)
  return promise
}

/** Plain objects keep the spelling of their names. */
function headersOf({ headers }: RequestInit): Record<string, string> {
  if (headers === undefined) return {}
  if (headers instanceof Headers || Array.isArray(headers)) return Object.fromEntries(headers)
  return { ...(headers as Record<string, string>) }
}

function bodyOf({ body }: RequestInit): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  throw new TypeError('a body is text or bytes')
}

function toResponse(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 500
  const headers = new Headers()
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    headers.append(answer.rawHeaders[at] ?? '', answer.rawHeaders[at + 1] ?? '')
  }
  if (BODYLESS.has(status)) answer.resume()
  const body = BODYLESS.has(status) ? null : toStream(answer)
  return new Response(body, { status, statusText: answer.statusMessage ?? '', headers })
}

/**
 * Streams bytes as they arrive and pauses the socket while they are not read. An answer that breaks off is an error,
 * not an end.
 */
function toStream(answer: IncomingMessage): ReadableStream<Uint8Array> {
  // A cancelled stream accepts nothing, and the answer can still have bytes in its buffer.
  let isCancelled = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        answer.on('data', (chunk: Buffer) => {
          if (isCancelled) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) answer.pause()
        })
        answer.once('end', () => {
          if (!isCancelled) controller.close()
        })
        answer.on('error', (error) => {
          if (!isCancelled) controller.error(answer.complete ? error : broken(error))
        })
      },
      pull() {
        answer.resume()
      },
      cancel() {
        isCancelled = true
        answer.destroy()
      },
    },
    { highWaterMark: 64 },
  )
}

/** The runtime calls a connection that the other side closed just "aborted". */
const broken = (error: Error) =>
  error.message === 'aborted'
    ? Object.assign(new Error('the connection was lost in the middle of the answer', { cause: error }), {
        code: 'ECONNRESET',
      })
    : error
