/** API keys: shown once, stored as a hash. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const PREFIX = 'pk_'

/** A new key and its hash, which is stored. */
export type MadeKey = { key: string; hash: string }

/** A key of 32 random bytes in url-safe text, with a prefix that scanners and people recognise. */
export function makeKey(): MadeKey {
  const key = PREFIX + randomBytes(32).toString('base64url')
  return { key, hash: hashKey(key) }
}

const TOKEN_PREFIX = 'ps_'

/** The token of a login session and its hash, like a key. */
export function makeSessionToken(): { token: string; hash: string } {
  const token = TOKEN_PREFIX + randomBytes(32).toString('base64url')
  return { token, hash: hashKey(token) }
}

/** True for a text that has the form of a session token. */
export const isSessionToken = (text: string): boolean => text.startsWith(TOKEN_PREFIX)

/** A code of 16 random bytes that opens one session, and its hash. */
export function makeLoginCode(): { code: string; hash: string } {
  const code = randomBytes(16).toString('base64url')
  return { code, hash: hashKey(code) }
}

/** SHA-256 in hex. Keys are random, so a slow password hash would add nothing. */
export const hashKey = (key: string): string => createHash('sha256').update(key, 'utf8').digest('hex')

/** True when two keys are equal. The time of the comparison reveals neither their difference nor their length. */
export function sameKey(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text, 'utf8').digest()
  return timingSafeEqual(digest(a), digest(b))
}
