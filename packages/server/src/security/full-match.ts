/** Matches a user's regular expression in linear time. */
import { RE2JS } from 're2js'

const MAX_PATTERN_CHARS = 2000

/** Returns a matcher for whole texts; null for an expression that is invalid, too long or not linear. */
export function fullMatch(pattern: string): ((text: string) => boolean) | null {
  if (pattern.length > MAX_PATTERN_CHARS) return null
  try {
    const expression = RE2JS.compile(pattern)
    return (text) => expression.matches(text)
  } catch {
    // The caller decides what an invalid pattern means.
    return null
  }
}
