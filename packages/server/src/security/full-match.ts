/** One expression as a person wrote it, matched in time that grows with the text alone. */
import { RE2JS } from 're2js'

const MAX_PATTERN_CHARS = 2000

/** Whether a whole text matches; null for what is no expression, too long, or more than linear time allows. */
export function fullMatch(pattern: string): ((text: string) => boolean) | null {
  if (pattern.length > MAX_PATTERN_CHARS) return null
  try {
    const expression = RE2JS.compile(pattern)
    return (text) => expression.matches(text)
  } catch {
    // A refusal is the answer here; who wrote the pattern decides what it means.
    return null
  }
}
