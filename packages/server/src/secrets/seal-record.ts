/** Seals the secrets of a record for the store, and unseals them. */
import type { Cipher } from './cipher.ts'
import { isSealed } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets } from './secret-members.ts'

/**
 * A copy as plain JSON data in which every secret text is sealed; members whose name does not mark them as secret stay readable.
 * Undefined members are dropped, as in JSON text.
 */
export function sealRecord(record: unknown, cipher: Pick<Cipher, 'seal'>): unknown {
  return replaceSecrets(plain(record), (text) => cipher.seal(text))
}

/**
 * Reverses `sealRecord`. A text that is not sealed is kept: an older version did not treat its name as secret.
 * @throws ParleyError `unavailable` when the key is another one.
 */
export function unsealRecord(record: unknown, cipher: Pick<Cipher, 'open'>): unknown {
  return replaceSecrets(plain(record), (text) => (isSealed(text) ? cipher.open(text) : text))
}

/** Records are JSON data, except undefined members. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
