/** Matchers of tool names. Pure. Source: agent-core.md 5.1. */

/** Compiles an expression that must match a whole text, in linear time; null for an expression that cannot be used. */
export type FullMatch = (pattern: string) => ((text: string) => boolean) | null

const LOOKS_LIKE_REGEX = /[|.*+?[\]()^$\\]/

/**
 * A predicate on tool names; `null` stands for a moment without a tool.
 * An expression that cannot be used matches nothing between slashes; without slashes it is taken as a plain name.
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
