/**
 * HTTP client for the APIs of models: one pool of kept-alive connections, shared by all models of a server.
 *
 * It replaces the runtime's own `fetch` because that one closes idle connections after four seconds (a tool call often
 * takes
 * longer, and each new connection costs a TLS handshake), ends any answer that is silent for five minutes whatever
 * `timeout`
 * says, and costs about twice the processor time per request.
 */
import type { IncomingMessage, RequestOptions } from 'node:http'
import { nodeHttp, nodeHttps, onSilence } from '../../lib/index.ts'
import { Images } from '../images/inline-images.ts'
import { NO_SERVER_KEY, type ServerKey } from '../server-key.ts'

/** The providers' libraries call this with a URL, and with plain headers and a text body in `init`. */
export type Fetch = typeof globalThis.fetch

export type TransportOptions = {
  /** `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, where they apply. */
  proxyEnv?: Record<string, string | undefined>
  /** Milliseconds an unused connection is kept; default 90,000. */
  idleMs?: number
  /** Default: a new cache, which downloads from public addresses only. */
  images?: Images
  /** Default: none. */
  serverKey?: ServerKey
}

export interface Transport extends Disposable {
  /**
   * Returns a `fetch` that fails with `SilenceError` after `silenceMs` without a byte in either direction; null waits
   * forever.
   */
  fetch(silenceMs: number | null): Fetch
  /** Downloaded images, for models that do not accept image addresses. */
  readonly images: Images
  /** The key that requests get in place of its reference. */
  readonly serverKey: ServerKey
}

/** No byte arrived from the model's server within the time limit. */
export class SilenceError extends Error {
  constructor(ms: number) {
    super(`no byte from the model's server for ${ms / 1000} s`)
    this.name = 'SilenceError'
  }
}

const STALE = new Set(['ECONNRESET', 'EPIPE'])
const BODYLESS = new Set([204, 205, 304])

/** Opens the pool. Idle connections do not keep the process alive; disposing it closes them all. */
export function openTransport(options: TransportOptions = {}): Transport {
  const pool = {
    keepAlive: true,
    timeout: options.idleMs ?? 90_000,
    scheduling: 'lifo',
    proxyEnv: options.proxyEnv,
  } as const
  const plain = lazily(() => new (nodeHttp().Agent)(pool))
  const secure = lazily(() => new (nodeHttps().Agent)(pool))

  const send = (
    url: URL,
    body: string,
    request: RequestOptions,
    signal: AbortSignal | undefined,
    silenceMs: number | null,
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const isSecure = url.protocol === 'https:'
    const agent = isSecure ? secure.get() : plain.get()
    const outgoing = (isSecure ? nodeHttps() : nodeHttp()).request(url, { ...request, agent, timeout: silenceMs ?? 0 })
    let answer: IncomingMessage | null = null
    // Once there is a response, the reader of its body must get the error.
    const fail = (error: Error) => (answer ?? outgoing).destroy(error)
    const onAbort = () =>
      fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason }))
    signal?.addEventListener('abort', onAbort, { once: true })
    outgoing.once('close', () => signal?.removeEventListener('abort', onAbort))
    onSilence(outgoing, () => fail(new SilenceError(silenceMs ?? 0)))
    outgoing.once('response', (incoming) => {
      answer = incoming
      resolve(incoming)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The server closed a kept connection while it was idle: it did not read the request, so it is sent again.
      const stale = outgoing.reusedSocket && STALE.has(error.code ?? '') && !signal?.aborted
      if (stale) send(url, body, request, signal, silenceMs).then(resolve, reject)
      else reject(error)
    })
    outgoing.end(body)
    return promise
  }

  const serverKey = options.serverKey ?? NO_SERVER_KEY
  return {
    images: options.images ?? new Images(),
    serverKey,
    fetch: (silenceMs) => async (input, init) => {
      const signal = init?.signal ?? undefined
      signal?.throwIfAborted()
      const body = typeof init?.body === 'string' ? init.body : ''
      const url = new URL(input instanceof Request ? input.url : input)
      const given = serverKey.headersFor(url, (init?.headers ?? {}) as Record<string, string>)
      const headers = { ...given, 'content-length': Buffer.byteLength(body) }
      const answer = await send(url, body, { method: init?.method ?? 'GET', headers }, signal, silenceMs)
      return toResponse(answer)
    },
    [Symbol.dispose]() {
      plain.made()?.destroy()
      secure.made()?.destroy()
    },
  }
}

/** Creates the value at its first use: a server that calls no model loads no TLS. */
function lazily<T>(make: () => T): { get: () => T; made: () => T | undefined } {
  let made: T | undefined
  return { get: () => (made ??= make()), made: () => made }
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
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        answer.on('data', (chunk: Buffer) => {
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) answer.pause()
        })
        answer.once('end', () => controller.close())
        answer.once('error', (error) => controller.error(answer.complete ? error : broken(error)))
      },
      pull() {
        answer.resume()
      },
      cancel(reason) {
        answer.destroy(reason instanceof Error ? reason : undefined)
      },
    },
    { highWaterMark: 64 },
  )
}

/** The runtime calls a connection that the other side closed just "aborted". */
const broken = (error: Error) =>
  error.message === 'aborted'
    ? new Error('the connection was lost in the middle of the answer', { cause: error })
    : error
