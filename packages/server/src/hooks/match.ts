/** Which tools a matcher means. Pure. Source: agent-core.md 5.1. */

/** Compiles an expression that has to match a whole text; null for one that cannot be used. Must run in linear time. */
export type FullMatch = (pattern: string) => ((text: string) => boolean) | null

const LOOKS_LIKE_REGEX = /[|.*+?[\]()^$\\]/

/**
 * The question that a matcher asks of a tool's name; `null` stands for a moment that concerns no tool.
 * Between slashes an expression that cannot be used matches nothing; elsewhere the text is then a plain name.
 */
export function toolMatcher(matcher: string, fullMatch: FullMatch): (toolName: string | null) => boolean {
  if (matcher === '' || matcher === '*') return () => true
  const named = nameMatcher(matcher, fullMatch)
  return (toolName) => toolName !== null && named(toolName)
}

function nameMatcher(matcher: string, fullMatch: FullMatch): (toolName: string) => boolean {
  if (matcher.length > 2 && matcher.startsWith('/') && matcher.endsWith('/'))
    return fullMatch(matcher.slice(1, -1)) ?? (() => false)
  const found = LOOKS_LIKE_REGEX.test(matcher) ? fullMatch(matcher) : null
  return found ?? ((toolName) => toolName === matcher)
}
