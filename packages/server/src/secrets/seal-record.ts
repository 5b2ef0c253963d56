/** Seals the secrets of a record for the store, and unseals them. */
import type { Cipher } from './cipher.ts'
import { isSealed } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets } from './secret-members.ts'
import { referencedAt } from './server-credential.ts'

/**
 * JSON data, which may have undefined members, with every secret text sealed; members whose name does not mark them as secret stay
 * readable. The model key of the server is replaced by its reference.
 */
export function sealRecord(record: unknown, cipher: Pick<Cipher, 'seal' | 'referenced'>): unknown {
  return replaceSecrets(record as Json, (text, place) => cipher.seal(referencedAt(text, place, cipher)))
}

/**
 * Reverses `sealRecord`. A text that is not sealed is kept: an older version did not treat its name as secret. A record of version
 * 0.1.0 may contain the model key of the server, which is replaced by its reference.
 * @throws ParleyError `unavailable` when the key is another one.
 */
export function unsealRecord(record: unknown, cipher: Pick<Cipher, 'open' | 'referenced'>): unknown {
  return replaceSecrets(record as Json, (text, place) =>
    referencedAt(isSealed(text) ? cipher.open(text) : text, place, cipher),
  )
}
