/** Maskers by the secrets that they mask. One is used for every commit of a conversation, and takes milliseconds to make. */
import { RecentMap } from '../lib/index.ts'
import type { Masker } from '../secrets/index.ts'

/** Most bytes of all maskers; the newest one is kept whatever its size. */
const MAX_BYTES = 4 * 1024 * 1024
/** Bytes of a masker beside its secrets. */
const MASKER_BYTES = 1024

export class MaskerCache {
  readonly #maskers = new RecentMap<Masker>(MAX_BYTES)

  /** Number of maskers kept. */
  get size(): number {
    return this.#maskers.size
  }

  /** @param key names the secrets; it must not contain them */
  get(key: string, make: () => Masker): Masker {
    const known = this.#maskers.get(key)
    if (known !== undefined) return known
    const masker = make()
    this.#maskers.set(key, masker, masker.bytes + MASKER_BYTES)
    return masker
  }
}
