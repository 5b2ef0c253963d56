/** Seals the secrets of a record for the store, and unseals them. */
import type { Cipher } from './cipher.ts'
import { isSealed } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets } from './secret-members.ts'
import { referencedAt } from './server-credential.ts'

/**
 * A copy as plain JSON data in which every secret text is sealed; members whose name does not mark them as secret stay readable.
 * Undefined members are dropped, as in JSON text. The model key of the server is replaced by its reference.
 */
export function sealRecord(record: unknown, cipher: Pick<Cipher, 'seal' | 'referenced'>): unknown {
  return replaceSecrets(plain(record), (text, place) => cipher.seal(referencedAt(text, place, cipher)))
}

/**
 * Reverses `sealRecord`. A text that is not sealed is kept: an older version did not treat its name as secret. A record of version
 * 0.1.0 may contain the model key of the server, which is replaced by its reference.
 * @throws ParleyError `unavailable` when the key is another one.
 */
export function unsealRecord(record: unknown, cipher: Pick<Cipher, 'open' | 'referenced'>): unknown {
  return replaceSecrets(plain(record), (text, place) =>
    referencedAt(isSealed(text) ? cipher.open(text) : text, place, cipher),
  )
}

/** Records are JSON data, except undefined members. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
