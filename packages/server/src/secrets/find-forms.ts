/**
 * Finds the masked forms of secrets in a text. One regular expression over all of them is no alternative: its engine refuses long
 * ones, with an error that contains them.
 *
 * Invariants
 *   F1. Of the forms at one position the longest counts, and the next match begins behind it.
 *   F2. The time grows with the length of the text, not with the number of the forms that begin alike or with their length.
 */

import { byCharacters, upperBound } from './sorted-texts.ts'

/** Characters by which a position is recognised as the possible beginning of a form; no form is shorter. */
export const HEAD_CHARS = 4
/** Characters of a form that are compared at each position where one may begin. */
export const PREFIX_CHARS = 128
/** Most characters by which a search advances at once. */
const MOST_SKIPPED = 16
/** Least and most number of hashes of two characters. */
const HASHES = { least: 1 << 10, most: 1 << 16 }

export type Match = { index: number; length: number }

export interface FormFinder {
  /** Length of the longest form. */
  readonly longest: number
  /** All matches in a text, in order. */
  matches(text: string): Match[]
}

/** The forms with one prefix. Prefixes are whole forms, or the first characters of longer ones. */
type Prefix = {
  text: string
  isForm: boolean
  /** Forms that are longer than a prefix, the longest first. */
  longer: string[]
  /** The longest prefix with which this one begins. */
  shorter: Prefix | undefined
}

/** @param forms texts of at least `HEAD_CHARS` characters */
export function openFormFinder(forms: Iterable<string>): FormFinder {
  const ordered = [...forms].toSorted((a, b) => b.length - a.length)
  const window = Math.min(MOST_SKIPPED, ordered.at(-1)?.length ?? MOST_SKIPPED)
  const mask = hashesFor(ordered.length * window) - 1
  const { skips, begins } = tablesOf(ordered, window, mask)
  const byHead = new Map<string, Prefix[]>()
  for (const [head, alike] of Map.groupBy(ordered, (form) => form.slice(0, HEAD_CHARS)))
    byHead.set(head, prefixesOf(alike))

  /** Length of the longest form at a position; 0 when there is none. `next`: where the long forms occur next. */
  function longestAt(text: string, at: number, next: Map<string, number>): number {
    const prefixes = byHead.get(text.slice(at, at + HEAD_CHARS))
    if (prefixes === undefined) return 0
    const piece = text.slice(at, at + PREFIX_CHARS)
    // A prefix of the piece is the last one that does not come after the piece, or one with which that one begins.
    let prefix = prefixes[upperBound(prefixes, piece, ({ text }) => text) - 1]
    for (; prefix !== undefined; prefix = prefix.shorter) {
      if (!piece.startsWith(prefix.text)) continue
      const long = prefix.longer.find((form) => occursAt(text, form, at, next))
      if (long !== undefined) return long.length
      if (prefix.isForm) return prefix.text.length
    }
    return 0
  }

  return {
    longest: ordered[0]?.length ?? 0,
    matches(text) {
      const found: Match[] = []
      const next = new Map<string, number>()
      // A form can end its first `window` characters at `end` only where its table allows it.
      for (let end = window - 1; end < text.length;) {
        const skip = skips[hashAt(text, end - 1) & mask]!
        const at = end - window + 1
        const length = skip === 0 && begins[hashAt(text, at) & mask] === 1 ? longestAt(text, at, next) : 0
        if (length > 0) found.push({ index: at, length })
        end += skip + (length > 0 ? length : skip === 0 ? 1 : 0)
      }
      return found
    },
  }
}

/** Hash of two characters. */
const hashAt = (text: string, at: number): number => {
  const first = text.charCodeAt(at)
  return (first << 6) ^ (first >> 7) ^ text.charCodeAt(at + 1)
}

/** A power of two, large enough that few of `pairs` pairs share a hash. */
const hashesFor = (pairs: number): number =>
  Math.min(HASHES.most, Math.max(HASHES.least, 1 << Math.ceil(Math.log2(4 * pairs + 1))))

/**
 * `skips`: how far the window can advance when it ends with a pair of characters; 0 where a form may have its first `window`
 * characters. `begins`: 1 for the pairs with which forms begin.
 */
function tablesOf(forms: readonly string[], window: number, mask: number) {
  const skips = new Uint8Array(mask + 1).fill(window - 1)
  const begins = new Uint8Array(mask + 1)
  for (const form of forms) {
    begins[hashAt(form, 0) & mask] = 1
    for (let end = 1; end < window; end++) {
      const hash = hashAt(form, end - 1) & mask
      skips[hash] = Math.min(skips[hash]!, window - 1 - end)
    }
  }
  return { skips, begins }
}

/** The prefixes of forms, in alphabetical order. */
function prefixesOf(forms: readonly string[]): Prefix[] {
  const groups = Map.groupBy(forms, (form) => form.slice(0, PREFIX_CHARS))
  const prefixes: Prefix[] = []
  for (const text of [...groups.keys()].toSorted(byCharacters)) {
    const alike = groups.get(text)!
    let shorter = prefixes.at(-1)
    while (shorter !== undefined && !text.startsWith(shorter.text)) shorter = shorter.shorter
    prefixes.push({ text, isForm: alike.includes(text), longer: alike.filter((form) => form !== text), shorter })
  }
  return prefixes
}

/** Each long form is searched once from a position to where it occurs, however often its prefix is found in between. */
function occursAt(text: string, form: string, at: number, next: Map<string, number>): boolean {
  let index = next.get(form)
  if (index === undefined || index < at) {
    const found = text.indexOf(form, at)
    index = found === -1 ? Number.POSITIVE_INFINITY : found
    next.set(form, index)
  }
  return index === at
}
