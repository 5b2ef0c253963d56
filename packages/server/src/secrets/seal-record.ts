/** A record on its way to the store and back: its secrets sealed, the rest as it is. */
import type { Cipher } from './cipher.ts'
import { isSealed } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets } from './secret-members.ts'

/**
 * A copy as plain JSON data in which every secret text is sealed; what a member name does not mark as secret stays readable.
 * Undefined members are dropped, as in JSON text.
 */
export function sealRecord(record: unknown, cipher: Pick<Cipher, 'seal'>): unknown {
  return replaceSecrets(plain(record), (text) => cipher.seal(text))
}

/**
 * The record as it was before `sealRecord`. A text that is not sealed is kept: an older version did not know its name as secret.
 * @throws ParleyError `unavailable` when the key does not fit.
 */
export function unsealRecord(record: unknown, cipher: Pick<Cipher, 'open'>): unknown {
  return replaceSecrets(plain(record), (text) => (isSealed(text) ? cipher.open(text) : text))
}

/** Records are JSON data apart from members that are undefined. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
