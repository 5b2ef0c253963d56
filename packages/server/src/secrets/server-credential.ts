/**
 * The reference to the model key of the server's configuration. Records hold it in place of the key, which only the connection to the
 * model adds to a request. Source: docs/security.md, The model key of the server.
 */
import type { Cipher } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets, type SecretPlace } from './secret-members.ts'

/** Stands for the key wherever a record has one. It is no secret, and it has no effect at any other address. */
export const SERVER_CREDENTIAL = 'credential:server'

/** True when `text` is `key`, as it is or after the scheme of an authorization header. */
export const isKeyText = (text: string, key: string): boolean => text === key || text.endsWith(` ${key}`)

/**
 * The same cipher for a server with a model key of its own: records that contain the key itself, as those of version 0.1.0 do, are
 * read and written with the reference instead.
 * @param key null: the server has none
 */
export function withServerCredential(cipher: Cipher, key: string | null): Cipher {
  if (key === null) return cipher
  return { ...cipher, referenced: (text) => (isKeyText(text, key) ? SERVER_CREDENTIAL : text) }
}

/** Places of credentials that this server sends to an address. The others are values for programs, which their user has chosen. */
const SENT: ReadonlySet<SecretPlace> = new Set(['field', 'header', 'lookup_header', 'auth'])

/** The secret text of a record as it is stored, before it is sealed, and as it is used, after it is unsealed. */
export const referencedAt = (text: string, place: SecretPlace, cipher: Pick<Cipher, 'referenced'>): string =>
  SENT.has(place) ? cipher.referenced(text) : text

/** A record as it is used after it was stored and read: the same one, or a copy with references where it contains the key itself. */
export function withReferences<Record>(record: Record, cipher: Pick<Cipher, 'referenced'>): Record {
  return replaceSecrets(record as Json, (text, place) => referencedAt(text, place, cipher)) as Record
}
