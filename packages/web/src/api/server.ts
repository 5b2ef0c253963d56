/** Calls of the server that delivered this page. */
import { browserName } from '../lib/browser-name.ts'
import { reportDown } from './connection.ts'
import { ServerError, sentenceOf } from './errors.ts'
import { membersOf } from '../log/read.ts'
import { forgetUser } from './personal.ts'
import { forgetSession, keepSession, sessionToken } from './session.ts'

export { messageOf, ServerError } from './errors.ts'

type Plain = string | number | boolean | null | undefined

export type CallOptions = {
  readonly query?: Readonly<Record<string, Plain | readonly Plain[]>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Replaces the session token, for the exchange of a key or a code. */
  readonly key?: string | null
  readonly signal?: AbortSignal | undefined
}

/** The call that shows whether the token is valid; its own refusal leads to no other call. */
const ME = '/api/me'
const LOGIN = /^#login=(.+)$/
const NO_ANSWER = 'The server does not answer.'

/** Called when the server refuses the token of this page. */
let onRefused: () => void = () => {}

export const server = {
  /** The session token, or null for a server without keys and before the login. */
  token: sessionToken,

  /** Address of a socket; the token is not part of it. */
  socketUrl: (path: string): string => new URL(path, location.href.replace(/^http/, 'ws')).href,

  /**
   * Sends a request and resolves to the JSON of its answer, or to undefined for an answer without a body. The answer is not validated.
   * @throws ServerError for a refusal or when no answer came; the signal's reason when it aborts.
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<unknown> {
    const response = await answerOf(method, path, options)
    const body = await bodyOf(response, options.signal)
    if (response.ok) return body
    if (response.status === 401 && options.key === undefined && path !== ME) onRefused()
    const detail = (body as { detail?: unknown } | undefined)?.detail ?? body
    const error = new ServerError(sentenceOf(response.status, detail), response.status, detail)
    error.facts = membersOf(body)
    throw error
  },

  /** Sets what happens when the server refuses the token of this page. */
  whenRefused(action: () => void): void {
    onRefused = action
  },
}

/** Exchanges a one-time code, or a key, for a session token and begins to use it. */
export async function signIn(by: { code: string } | { key: string }, stays: boolean): Promise<void> {
  const label = browserName(navigator.userAgent)
  const options = 'code' in by ? { body: { code: by.code, label }, key: null } : { body: { label }, key: by.key }
  const { token } = (await server.call('POST', '/api/auth/sessions', options)) as { token: string }
  keepSession(token, stays)
}

/** Ends the session on the server and forgets the token in all tabs, also when the server cannot be reached. */
export async function signOut(): Promise<void> {
  try {
    await server.call('DELETE', '/api/auth/sessions/current')
  } finally {
    forgetSession()
    forgetUser()
  }
}

/** True while the address of the page holds a one-time code. */
export const hasLoginCode = (): boolean => LOGIN.test(location.hash)

/** Takes the one-time code out of the page's address; null without one. */
export function takeLoginCode(): string | null {
  const [, code] = LOGIN.exec(location.hash) ?? []
  if (code === undefined) return null
  history.replaceState(history.state, '', location.pathname + location.search)
  return decodeURIComponent(code)
}

async function answerOf(method: string, path: string, options: CallOptions): Promise<Response> {
  const url = new URL(path, location.origin)
  for (const [name, value] of Object.entries(options.query ?? {}))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one))
  const headers = new Headers()
  const key = options.key === undefined ? sessionToken() : options.key
  if (key !== null) headers.set('X-Session-API-Key', key)
  if (options.body !== undefined) headers.set('Content-Type', 'application/json')
  const init: RequestInit = { method, headers, credentials: 'omit', redirect: 'error' }
  if (options.body !== undefined) init.body = JSON.stringify(options.body)
  if (options.signal !== undefined) init.signal = options.signal
  return fetch(url, init).catch((cause: unknown) => {
    options.signal?.throwIfAborted()
    reportDown()
    throw new ServerError(NO_ANSWER, 0, null, cause)
  })
}

async function bodyOf(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const text = await response.text().catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw new ServerError(NO_ANSWER, 0, null, cause)
  })
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // A proxy may have answered with a page of HTML; its beginning is enough.
    return text.slice(0, 200)
  }
}
