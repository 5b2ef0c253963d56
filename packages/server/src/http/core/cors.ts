/**
 * CORS: browser origins that may read answers. Origins on this machine may, on any port, besides the configured ones.
 * Source: agent-server-wire.md 0.1; conversation-service.md 6.
 */

const MAX_AGE_SECONDS = 600
const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
/** Headers that a page may read. */
const EXPOSED =
  'Retry-After, Preference-Applied, Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset'

type Headers = Record<string, string>

export type Cors = {
  isAllowed: (origin: string) => boolean
  /**
   * Headers for an ordinary answer; none for an absent or refused origin (the request itself still runs).
   * `forAnyPage`: every web origin may read the answer.
   */
  answer(origin: string | undefined, forAnyPage?: boolean): Headers
  /** The answer to a preflight. */
  preflight(
    origin: string,
    requestedHeaders: string | undefined,
    forAnyPage?: boolean,
  ): { allowed: boolean; headers: Headers; text: string }
}

/**
 * @param origins full origins (`https://app.example.org`) that are allowed besides this machine's; `*` allows all
 * @param trustsMachine false: origins on this machine are allowed only when they are listed. Without keys, a page of any program of
 * this machine could do everything.
 */
export function createCors(origins: readonly string[], trustsMachine = true): Cors {
  const listed = new Set(origins.map((origin) => origin.replace(/\/+$/, '').toLowerCase()))
  const isAllowed = (origin: string) =>
    listed.has('*') || listed.has(origin.toLowerCase()) || (trustsMachine && isLocal(origin))
  const allow = (origin: string): Headers => ({
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
  })
  return {
    isAllowed,
    answer: (origin, forAnyPage = false) =>
      origin === undefined || !(isAllowed(origin) || (forAnyPage && isWeb(origin)))
        ? { vary: 'Origin' }
        : { ...allow(origin), 'access-control-expose-headers': EXPOSED, vary: 'Origin' },
    preflight: (origin, requestedHeaders, forAnyPage = false) => {
      const allowed = isAllowed(origin) || (forAnyPage && isWeb(origin))
      const headers: Headers = {
        ...(allowed && allow(origin)),
        'access-control-allow-methods': METHODS,
        'access-control-max-age': String(MAX_AGE_SECONDS),
        ...(requestedHeaders !== undefined && { 'access-control-allow-headers': requestedHeaders }),
        vary: 'Origin',
      }
      return { allowed, headers, text: allowed ? 'OK' : 'Disallowed CORS origin' }
    },
  }
}

/** Excludes `null`, the origin of every sandboxed frame. */
const isWeb = (origin: string): boolean => /^https?:\/\/[^/\s]+$/i.test(origin)

function isLocal(origin: string): boolean {
  return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.test(origin)
}
