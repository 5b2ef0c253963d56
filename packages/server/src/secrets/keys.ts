/** API keys: made once, shown once, kept as a hash. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const PREFIX = 'pk_'

/** A new key and what may be stored of it. */
export type MadeKey = { key: string; hash: string }

/** 32 random bytes in url-safe text behind a prefix by which scanners and people know it. */
export function makeKey(): MadeKey {
  const key = PREFIX + randomBytes(32).toString('base64url')
  return { key, hash: hashKey(key) }
}

/** SHA-256 in hex. Keys are random, so that a slow password hash would add nothing. */
export const hashKey = (key: string): string => createHash('sha256').update(key, 'utf8').digest('hex')

/** Whether two keys are equal, in a time that tells nothing about where they differ or how long they are. */
export function sameKey(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text, 'utf8').digest()
  return timingSafeEqual(digest(a), digest(b))
}
