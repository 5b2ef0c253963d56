/**
 * Masking of a text that comes in pieces. Source: agent-core.md 11.6, F19, P38.
 *
 * Invariants
 *   M1. What was let through, put together, is what masking the whole text would have left, whatever the pieces were; only
 *       next to a mask that was there before, and that a secret overlaps, more may be hidden, or less of the mask stand.
 *   M2. Only an end that may be the beginning of a secret is held back; ordinary text passes at once.
 */
import { MASK } from './mask.ts'

export interface MaskStream {
  /** What may be shown now; often less than what came, or nothing. */
  write(piece: string): string
  /** What was held back, masked: no more will come. The stream can be used again. */
  end(): string
}

/** Everything that is masked: the forms, and a pattern that finds the longest of them at each place. */
export type Forms = { longest: number; list: readonly string[]; pattern: RegExp | null }

/** A stream that masks these forms. */
export function openMaskStream({ longest, list, pattern }: Forms): MaskStream {
  if (pattern === null) return { write: (piece) => piece, end: () => '' }
  const byFirst = Map.groupBy([...list, MASK], (form) => form.charCodeAt(0))
  let held = ''

  /** Where the earliest end begins that may still grow into a form. */
  function openFrom(text: string, from: number): number {
    for (let at = Math.max(from, text.length - Math.max(longest, MASK.length) + 1); at < text.length; at++) {
      const rest = text.length - at
      const candidates = byFirst.get(text.charCodeAt(at)) ?? []
      if (candidates.some((form) => form.length > rest && form.startsWith(text.slice(at)))) return at
    }
    return text.length
  }

  /** Up to here nothing that comes later can change. A form that began before the open end is whole, and goes with it. */
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

/** A mask that is already there is left alone. */
export const masked = (text: string, pattern: RegExp): string =>
  text
    .split(MASK)
    .map((piece) => piece.replace(pattern, MASK))
    .join(MASK)
