/** A typed call of one endpoint row: the request is built from it, the answer is what it promises. */
import type { BodyInput, Endpoint, OkBody, QueryInput } from '@parley/protocol'
import { CallError, detailText } from './errors.ts'
import { backOffMs, retryAfterMs, sleep, type BackOff } from './wait.ts'

export type Server = {
  /** Without a path; a trailing slash does no harm. */
  baseUrl: string
  /** Sent as `X-Session-API-Key`; absent for a server without keys. */
  apiKey?: string | undefined
  /** Pauses between repetitions of requests that may be repeated. */
  backOff?: BackOff
  /** Most repetitions of one request. */
  retries?: number
  /** Takes the place of the runtime's own `fetch`. */
  fetch?: typeof globalThis.fetch
}

export type Request<E extends Endpoint> = {
  /** Values of the `{names}` in the path. */
  path?: Readonly<Record<string, string>>
  query?: QueryInput<E>
  body?: BodyInput<E>
  /** A body that is no JSON; instead of `body`. */
  upload?: { type: string; bytes: Uint8Array<ArrayBuffer> }
  headers?: Readonly<Record<string, string>>
  /** The request may be repeated although its method changes things: the server tells a repetition from a second request. */
  isRepeatable?: boolean
}

const BACK_OFF: BackOff = { firstMs: 100, maxMs: 5000 }
const RETRIES = 5

/**
 * Calls, and repeats a request that may be repeated while the server is away or asks to wait.
 * The answer is not parsed again: the server is newer or older than this client, and both have to work.
 * @throws CallError for a refusal or when no answer came; the signal's reason when it aborts.
 */
export async function call<E extends Endpoint>(
  server: Server,
  row: E,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<OkBody<E>> {
  const response = await open(server, row, request, signal)
  const text = await response.text().catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new CallError('the connection broke', { status: null, cause })
  })
  return (text === '' ? undefined : JSON.parse(text)) as OkBody<E>
}

/** As `call`, but hands out the answer as it comes. */
export async function open<E extends Endpoint>(
  server: Server,
  row: E,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<Response> {
  const mayRepeat = request.isRepeatable === true || row.method === 'GET'
  const retries = mayRepeat ? (server.retries ?? RETRIES) : 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(server, row, request, signal)
    } catch (error) {
      if (!(error instanceof CallError && error.isPassing) || attempt > retries) throw error
      await sleep(error.retryAfterMs ?? backOffMs(server.backOff ?? BACK_OFF, attempt), signal)
    }
  }
}

async function once<E extends Endpoint>(
  server: Server,
  row: E,
  request: Request<E>,
  signal?: AbortSignal,
): Promise<Response> {
  const url = urlOf(server.baseUrl, row.path, request.path ?? {}, request.query ?? {})
  const headers: Record<string, string> = { ...request.headers }
  if (server.apiKey !== undefined) headers['X-Session-API-Key'] = server.apiKey
  if (request.body !== undefined) headers['Content-Type'] = 'application/json'
  const init: RequestInit = { method: row.method, headers }
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
  throw await refusal(row, response)
}

async function refusal(row: Endpoint, response: Response): Promise<CallError> {
  const text = await response.text().catch(() => '')
  const detail = detailOf(text)
  const hint = response.status === 401 ? '; the key is missing or not valid' : ''
  return new CallError(`${row.method} ${row.path} was refused with ${response.status}: ${detailText(detail)}${hint}`, {
    status: response.status,
    detail,
    retryAfterMs: retryAfterMs(response.headers),
  })
}

function detailOf(text: string): unknown {
  try {
    const body = JSON.parse(text) as { detail?: unknown } | null
    return body?.detail ?? body
  } catch {
    // Something in between has answered, such as a proxy; a page of HTML helps nobody.
    return text.slice(0, 200)
  }
}

/** Node hides the reason one level down; browsers tell none. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  // Several addresses of one name, all refused: an error without a message of its own.
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
