/** Typed calls of endpoints: the request is built from the route, and the row behind it types body, query and answer. */
import type { BodyInput, Endpoint, OkBody, QueryInput } from '@parley/protocol'
import { CallError, detailText } from './errors.ts'
import type { RouteOf } from './route.ts'
import { backOffMs, retryAfterMs, sleep, type BackOff } from './wait.ts'

export type Server = {
  /** Address without a path; a trailing slash is ignored. */
  baseUrl: string
  /** Sent as `X-Session-API-Key`; absent for a server without keys. */
  apiKey?: string | undefined
  /** Pauses between repetitions of requests that may be repeated. */
  backOff?: BackOff
  /** Most repetitions of one request. */
  retries?: number
  /** Replaces the `fetch` of the runtime. */
  fetch?: typeof globalThis.fetch
}

export type Request<E extends Endpoint> = {
  /** Values of the `{names}` in the path. */
  path?: Readonly<Record<string, string>>
  query?: QueryInput<E>
  body?: BodyInput<E>
  /** A body that is not JSON; replaces `body`. */
  upload?: { type: string; bytes: Uint8Array<ArrayBuffer> }
  headers?: Readonly<Record<string, string>>
  /** The request may be repeated although its method changes state, because the server recognises the repetition. */
  isRepeatable?: boolean
  /**
   * Sent as `Idempotency-Key`, 1 to 255 visible ASCII characters. A Parley server carries the request out once, so it is repeated
   * when its answer is lost. Another server may ignore the key.
   */
  idempotencyKey?: string
}

const BACK_OFF: BackOff = { firstMs: 100, maxMs: 5000 }
const RETRIES = 5

/**
 * Sends a request and resolves to its answer. Repeats a repeatable request while the server is unreachable or asks to wait.
 * The answer is not validated, because the server may be newer or older than this client.
 * @throws CallError for a refusal or when no answer came; the signal's reason when it aborts.
 */
export async function call<E extends Endpoint>(
  server: Server,
  route: RouteOf<E>,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<OkBody<E>> {
  const response = await open(server, route, request, signal)
  const text = await response.text().catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new CallError('the connection broke', { status: null, cause })
  })
  return (text === '' ? undefined : JSON.parse(text)) as OkBody<E>
}

/** As `call`, but resolves to the response before its body is read. */
export async function open<E extends Endpoint>(
  server: Server,
  route: RouteOf<E>,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<Response> {
  const isKeyed = request.idempotencyKey !== undefined
  const mayRepeat = request.isRepeatable === true || route.method === 'GET' || isKeyed
  const retries = mayRepeat ? (server.retries ?? RETRIES) : 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(server, route, request, signal)
    } catch (error) {
      const mayPass = error instanceof CallError && (isKeyed ? isUnanswered(error) : error.isPassing)
      if (!mayPass || attempt > retries) throw error
      await sleep(error.retryAfterMs ?? backOffMs(server.backOff ?? BACK_OFF, attempt), signal)
    }
  }
}

/** Statuses of a server or proxy that did not carry the request out, or whose answer was lost. */
const UNANSWERED: readonly (number | null)[] = [null, 408, 425, 429, 502, 503]

/**
 * True when the same request with the same `Idempotency-Key` may get its answer later. A 409 that names a wait means that the first
 * request is still at work; after 500 and 504 the outcome is unknown.
 */
const isUnanswered = ({ status, retryAfterMs: wait }: CallError): boolean =>
  UNANSWERED.includes(status) || (status === 409 && wait !== null)

async function once<E extends Endpoint>(
  server: Server,
  route: RouteOf<E>,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<Response> {
  const url = urlOf(server.baseUrl, route.path, request.path ?? {}, request.query ?? {})
  const headers: Record<string, string> = { ...request.headers }
  if (server.apiKey !== undefined) headers['X-Session-API-Key'] = server.apiKey
  if (request.idempotencyKey !== undefined) headers['Idempotency-Key'] = request.idempotencyKey
  if (request.body !== undefined) headers['Content-Type'] = 'application/json'
  // A redirect would take the key to an address that the caller has not named.
  const init: RequestInit = { method: route.method, headers, redirect: 'manual' }
  if (request.body !== undefined) init.body = JSON.stringify(request.body)
  if (request.upload !== undefined) {
    headers['Content-Type'] = request.upload.type
    init.body = request.upload.bytes
  }
  if (signal !== undefined) init.signal = signal
  const response = await (server.fetch ?? fetch)(url, init).catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new CallError(`no answer from ${server.baseUrl}: ${reasonOf(cause)}`, { status: null, cause })
  })
  if (response.ok) return response
  if (isRedirect(response)) throw await redirected(server.baseUrl, response)
  throw await refusal(route, response)
}

/** Browsers show a redirect that they did not follow as an answer without a status. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)

async function redirected(baseUrl: string, response: Response): Promise<CallError> {
  await response.body?.cancel()
  const message = `${baseUrl} answers with a redirect, which is not followed; set baseUrl to the address of the server itself`
  return new CallError(message, { status: response.status })
}

async function refusal(route: RouteOf<Endpoint>, response: Response): Promise<CallError> {
  const text = await response.text().catch(() => '')
  const detail = detailOf(text)
  const hint = response.status === 401 ? '; the key is missing or not valid' : ''
  return new CallError(
    `${route.method} ${route.path} was refused with ${response.status}: ${detailText(detail)}${hint}`,
    {
      status: response.status,
      detail,
      retryAfterMs: retryAfterMs(response.headers),
    },
  )
}

function detailOf(text: string): unknown {
  try {
    const body = JSON.parse(text) as { detail?: unknown } | null
    return body?.detail ?? body
  } catch {
    // A proxy may have answered with a page of HTML; its beginning is enough.
    return text.slice(0, 200)
  }
}

/** Reason of a failed fetch. Node puts it into `cause`; browsers give none. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  // The error for several addresses of one name that all refused has an empty message.
  if (cause.message !== '') return cause.message
  const { code } = cause as { code?: unknown }
  return typeof code === 'string' ? code : cause.name
}

function urlOf(baseUrl: string, path: string, members: Readonly<Record<string, string>>, query: object): string {
  const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = members[name]
    if (value === undefined) throw new TypeError(`${path} needs ${name}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams()
  type Plain = string | number | boolean | null | undefined
  for (const [name, value] of Object.entries(query) as [string, Plain | Plain[]][]) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one))
    }
  }
  const suffix = search.size === 0 ? '' : `?${search.toString()}`
  return `${baseUrl.replace(/\/+$/, '')}${filled}${suffix}`
}
