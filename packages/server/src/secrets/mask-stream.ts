/**
 * Masking of a text that arrives in pieces. Source: agent-core.md 11.6, F19, P38.
 *
 * Invariants
 *   M1. The joined output equals the masked whole text, for any pieces. The only exception is next to an existing mask that a
 *       secret overlaps: there more may be hidden, or less of the mask may remain.
 *   M2. Only an end that may be the beginning of a secret is held back; ordinary text passes at once.
 */
import { MASK, masked } from './mask-text.ts'

export interface MaskStream {
  /** Returns the masked text that can be shown now, which may be shorter than the input or empty. */
  write(piece: string): string
  /** Ends the text and returns the rest, masked. The stream can be used again. */
  end(): string
}

/** The masked forms, and a pattern that finds the longest of them at each position. */
export type Forms = { longest: number; list: readonly string[]; pattern: RegExp | null }

/** A stream that masks these forms. */
export function openMaskStream({ longest, list, pattern }: Forms): MaskStream {
  if (pattern === null) return { write: (piece) => piece, end: () => '' }
  const byFirst = Map.groupBy([...list, MASK], (form) => form.charCodeAt(0))
  let held = ''

  /** Start of the longest end of `text` that may still grow into a form. */
  function openFrom(text: string, from: number): number {
    for (let at = Math.max(from, text.length - Math.max(longest, MASK.length) + 1); at < text.length; at++) {
      const rest = text.length - at
      const candidates = byFirst.get(text.charCodeAt(at)) ?? []
      if (candidates.some((form) => form.length > rest && form.startsWith(text.slice(at)))) return at
    }
    return text.length
  }

  /** End of the part that later pieces cannot change. A form that begins before the open end is complete and included. */
  function settled(text: string): number {
    let open = openFrom(text, 0)
    for (const { index, 0: found } of text.matchAll(pattern!)) {
      if (index >= open) break
      if (index + found.length > open) open = openFrom(text, index + found.length)
    }
    return open
  }

  return {
    write(piece) {
      const text = held + piece
      const end = settled(text)
      held = text.slice(end)
      return masked(text.slice(0, end), pattern)
    },
    end() {
      const rest = masked(held, pattern)
      held = ''
      return rest
    },
  }
}
