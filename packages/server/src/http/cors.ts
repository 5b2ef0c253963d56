/**
 * Which browser origins may read our answers. Origins on this machine may, on any port, beside the configured ones.
 * Source: agent-server-wire.md 0.1, conversation-service.md 6.
 */

const MAX_AGE_SECONDS = 600
const METHODS = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
/** What a page may read beside the body: where a refusal's log line is, and when to come back. */
const EXPOSED = 'Retry-After, Preference-Applied, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset'

export type Headers = Record<string, string>

export type Cors = {
  isAllowed: (origin: string) => boolean
  /**
   * Headers for an ordinary answer; none when the origin is absent or refused (the request itself still runs).
   * `forAnyPage`: every web origin may read this one.
   */
  answer(origin: string | undefined, forAnyPage?: boolean): Headers
  /** The answer to a preflight. */
  preflight(
    origin: string,
    requestedHeaders: string | undefined,
    forAnyPage?: boolean,
  ): { allowed: boolean; headers: Headers; text: string }
}

/** @param origins full origins (`https://app.example.org`) that are let in beside this machine's; `*` lets every one in. */
export function createCors(origins: readonly string[]): Cors {
  const listed = new Set(origins.map((origin) => origin.replace(/\/+$/, '').toLowerCase()))
  const isAllowed = (origin: string) => listed.has('*') || listed.has(origin.toLowerCase()) || isLocal(origin)
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

/** Not `null`, which every sandboxed frame says. */
const isWeb = (origin: string): boolean => /^https?:\/\/[^/\s]+$/i.test(origin)

function isLocal(origin: string): boolean {
  return /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i.test(origin)
}
