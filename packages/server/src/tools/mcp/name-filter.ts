/** The agent's filter for names that strangers chose. Source: agent-core.md 8.1 (2). */
import { createContext, Script } from 'node:vm'

/** Milliseconds for one name. */
const LIMIT_MS = 50

/**
 * Whether a name is let through: the expression matches from its start, as far as it goes. What a matcher in linear time cannot
 * do (such as looking ahead) is done with a limit, and a name that takes longer is not let through.
 * @param linear makes a matcher of whole texts; null for an expression that it cannot do
 */
export function nameFilter(
  regex: string | null,
  linear: (pattern: string) => ((text: string) => boolean) | null,
): (name: string) => boolean {
  if (regex === null) return () => true
  const fast = linear(`(?:${regex})[\\s\\S]*`)
  if (fast !== null) return fast
  const expression = new RegExp(`^(?:${regex})`)
  const script = new Script('expression.test(name)')
  return (name) => {
    try {
      return script.runInContext(createContext({ expression, name }), { timeout: LIMIT_MS }) === true
    } catch {
      // Out of time.
      return false
    }
  }
}
