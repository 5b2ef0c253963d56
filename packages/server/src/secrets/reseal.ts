/** Seals stored texts with another key. Source: docs/operations.md, Replacing the sealing key. */
import { type Cipher, isSealed, SEALED_ANYWHERE, sealedWith } from './cipher.ts'
import type { Json } from './json.ts'
import { replaceSecrets } from './secret-members.ts'
import { referencedAt } from './server-credential.ts'

export interface Resealer {
  /** True for a text that contains something to seal with the new key. */
  isAffected(text: string): boolean
  /** The text with every sealed value in it sealed with the new key. Values that the earlier key does not open stay as they are. */
  text(text: string): string
  /** As `text`, for a JSON record whose keys of models may be the one of the server: those become references to it. */
  record(json: string): string
  /** Numbers of values so far: sealed with the new key, and not opened by the earlier one. */
  readonly counts: { resealed: number; unreadable: number }
}

/** `from` opens with the earlier key, and knows the reference to the model key of the server; `to` seals with the new one. */
export function makeResealer(from: Pick<Cipher, 'open' | 'referenced'>, to: Pick<Cipher, 'seal' | 'keyId'>): Resealer {
  const counts = { resealed: 0, unreadable: 0 }
  const isNew = (sealed: string) => sealedWith(sealed) === to.keyId

  function opened(sealed: string): string | null {
    try {
      return from.open(sealed)
    } catch {
      return null
    }
  }
  function resealed(sealed: string): string {
    if (isNew(sealed)) return sealed
    const text = opened(sealed)
    counts[text === null ? 'unreadable' : 'resealed'] += 1
    return text === null ? sealed : to.seal(text)
  }
  const resealText = (text: string) => text.replaceAll(SEALED_ANYWHERE, resealed)

  /** Null for a record without the model key of the server. */
  function withReferences(record: Json): Json | null {
    let isChanged = false
    const changed = replaceSecrets(record, (sealed, place) => {
      const text = isSealed(sealed) && !isNew(sealed) ? opened(sealed) : null
      if (text === null || referencedAt(text, place, from) === text) return sealed
      isChanged = true
      counts.resealed += 1
      return to.seal(referencedAt(text, place, from))
    })
    return isChanged ? changed : null
  }

  return {
    counts,
    isAffected: (text) => [...text.matchAll(SEALED_ANYWHERE)].some(([sealed]) => !isNew(sealed)),
    text: resealText,
    record: (json) => {
      let record: Json
      try {
        record = JSON.parse(json) as Json
      } catch {
        // A damaged record stays as it is, apart from what can be opened in it.
        return resealText(json)
      }
      const changed = withReferences(record)
      return resealText(changed === null ? json : JSON.stringify(changed))
    },
  }
}
