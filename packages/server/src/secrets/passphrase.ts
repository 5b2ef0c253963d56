/**
 * Secrets from configured texts. A text of random bytes is used as it is; any other text could be guessed by a reader of a token or a
 * copy of the store, so that each guess is made expensive. Source: docs/security.md, The sealing key.
 */
import { createHash, randomBytes, scrypt } from 'node:crypto'

/** About 0.3 s and 64 MiB for one guess. */
const COST = { N: 2 ** 16, r: 8, p: 2, maxmem: 128 * 1024 * 1024 }
const SECRET_BYTES = 32
const SALT_BYTES = 16

/** Salt of a store, which makes a guess valid for one store only. */
export const makeSalt = (): string => randomBytes(SALT_BYTES).toString('base64url')

/** True for 32 or more random bytes in hexadecimal digits or in base64, as a key file contains them. */
export function isRandomText(text: string): boolean {
  const distinct = new Set(text).size
  if (/^[0-9a-f]{64,}$/i.test(text)) return distinct >= 10
  const isBase64 = /^[A-Za-z0-9+/_-]{43,}={0,2}$/.test(text)
  return isBase64 && distinct >= 20 && /[A-Z]/.test(text) && /[a-z]/.test(text) && /[0-9]/.test(text)
}

/** The secret of a text of random bytes; of any other text only where version 0.1.0 sealed with it. */
export const digested = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

/** The secret of a text that a person has chosen. */
export function stretched(text: string, salt: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  scrypt(text, `parley ${salt}`, SECRET_BYTES, COST, (error, secret) =>
    error === null ? resolve(secret) : reject(error),
  )
  return promise
}
