/** Authentication of requests, before their body is read. Source: agent-server-wire.md 3; decisions.md, Identity. */
import type { IncomingHttpHeaders } from 'node:http'
import { ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import { type AddressOf, createAddressOf } from './client-address.ts'
import { isSameOrigin } from './hosts.ts'
import { type Answer, READ_ONLY, UNAUTHORIZED, WEBHOOKS_ONLY } from './errors.ts'
import type { Guesses } from './rate-limits.ts'

/** Returns the key's user, or null for a key that is unknown, expired or revoked. Compares in constant time. */
export type Authenticate = (key: string) => Promise<Actor | null>

export type Auth = {
  authenticate: Authenticate
  /** Actor of every request, for a server without keys. */
  noKeys?: Actor | undefined
  /** Absent: no limit for wrong keys. */
  guesses?: Guesses
  /** Absent: no proxy is trusted. */
  addressOf?: AddressOf
}

const OF_CONNECTION = createAddressOf([])
/** The address that a request is counted under. */
export const addressOf = (request: Parameters<AddressOf>[0], auth: Auth): string | undefined =>
  (auth.addressOf ?? OF_CONNECTION)(request)

const HEADER = 'x-session-api-key'
/** A longer text is never a key, so it is not hashed. */
const MAX_KEY_CHARS = 4096

/**
 * The key in the headers; undefined without one. `bearer`: accepts `Authorization: Bearer`, as the gateway does. `webhook`: accepts
 * the header of another description of the webhook receiver. Source: conversation-service.md 5.1.
 */
export function presentedKey(headers: IncomingHttpHeaders, bearer = false, webhook = false): string | undefined {
  const own = headers[HEADER] ?? (webhook ? headers['x-access-token'] : undefined)
  if (typeof own === 'string') return own
  if (!bearer) return undefined
  return /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** `actor` of a refused request: its user, where the key is known. */
export type Admitted = { actor: Actor; refusal?: undefined } | { refusal: Answer; actor?: Actor }

/** What a request may be although its key has a narrow role: `takesWebhooks`: one of a key for webhooks; `forReaders`: one of a key that may only read, and not a GET. */
export type Admits = { takesWebhooks?: boolean | undefined; forReaders?: boolean | undefined }

/** Finds the actor of `key`; a server without keys has one actor. `address`: the one that the request is counted under. */
async function identify(key: string | undefined, auth: Auth, address: string | undefined): Promise<Admitted> {
  if (auth.noKeys !== undefined) return { actor: auth.noKeys }
  if (key === undefined || key === '') return { refusal: UNAUTHORIZED }
  const refusal = auth.guesses?.refusalOf(key, address) ?? null
  if (refusal !== null) return { refusal }
  const actor = key.length > MAX_KEY_CHARS ? null : await auth.authenticate(key)
  if (actor === null) auth.guesses?.wasWrong(key, address)
  else auth.guesses?.wasRight(key)
  return actor === null ? { refusal: UNAUTHORIZED } : { actor }
}

/** The actor of `key` for a socket, or null. A server without keys has one actor. `address`: the one that the request is counted under. */
export async function actorOf(key: string | undefined, auth: Auth, address: string | undefined): Promise<Actor | null> {
  const { actor, refusal } = await identify(key, auth, address)
  return refusal === undefined && actor.role !== 'webhook' ? actor : null
}

/** The request's actor, or the answer that refuses it. */
export async function admit(
  request: {
    method: string
    url: string
    headers: IncomingHttpHeaders
    socket?: { remoteAddress?: string | undefined }
  },
  auth: Auth,
  { takesWebhooks = false, forReaders = false }: Admits = {},
): Promise<Admitted> {
  const { url, headers } = request
  const key = presentedKey(headers, url.startsWith('/v1/'), url.startsWith('/api/v1/webhooks/'))
  const admitted = await identify(key, auth, addressOf(request, auth))
  const { actor } = admitted
  if (actor?.role === 'webhook' && !takesWebhooks) return { refusal: WEBHOOKS_ONLY, actor }
  const reads = request.method === 'GET' || request.method === 'HEAD'
  return actor?.role === 'read-only' && !reads && !forReaders ? { refusal: READ_ONLY, actor } : admitted
}

/** Refuses users other than administrators. @throws ParleyError `forbidden`. */
export function expectAdmin({ role }: Actor): void {
  if (role !== 'admin')
    throw new ParleyError('forbidden', 'This is for administrators. Use a key with the role "admin".')
}

/** Refuses keys that may only read conversations, for what belongs to the machine. @throws ParleyError `forbidden`. */
export function expectWriter({ role }: Actor): void {
  if (role === 'read-only')
    throw new ParleyError(
      'forbidden',
      'This key may only read conversations, nothing of the machine. Use a key with the role "user" or "admin".',
    )
}

/**
 * True when a request without a key may originate outside this machine: from a page of a foreign origin, or under a foreign host
 * name that resolves to the loopback address. A server without keys trusts the machine, but a browser on it runs foreign pages.
 */
export function isForeign(headers: IncomingHttpHeaders, isAllowedOrigin: (origin: string) => boolean): boolean {
  const { origin, host } = headers
  if (origin !== undefined && !isAllowedOrigin(origin) && !isSameOrigin(origin, host)) return true
  return host !== undefined && !/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host)
}
