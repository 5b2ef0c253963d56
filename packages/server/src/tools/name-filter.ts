/**
 * The agent's filter for tool names. Names may come from untrusted servers and clients. The expression of
 * `filter_tools_regex` is
 * matched against names only here. Source: agent-core.md 8.1.
 */
import * as vm from 'node:vm'
import { invalidInput } from '@parley/protocol'

/** Milliseconds of one filter for all names together. */
const LIMIT_MS = 250
const MAX_CHARS = 2000

type Match = (name: string) => boolean | null

export type NameFilterOptions = {
  /** Returns a matcher of whole texts in linear time; null for an unsupported expression. Absent: there is none. */
  linear?: (pattern: string) => ((text: string) => boolean) | null
  /** Called with a name when the time is up. Default: the name is rejected. */
  onTimeUp?: (name: string) => boolean
}

/**
 * Returns a predicate: the expression matches a name from its start, as far as it goes. An expression that does not run
 * in linear
 * time (with a lookahead, for example) gets a time limit for all names.
 * @throws ParleyError `invalid_input` for an expression that is invalid or too long.
 */
export function nameFilter(
  regex: string | null,
  { linear = () => null, onTimeUp = () => false }: NameFilterOptions = {},
): (name: string) => boolean {
  if (regex === null) return () => true
  expectNameFilter(regex)
  const fast = linear(`(?:${regex})[\\s\\S]*`)
  if (fast !== null) return fast
  const match = boundedMatch(regex, LIMIT_MS, vm)
  return (name) => match(name) ?? onTimeUp(name)
}

/** @throws ParleyError `invalid_input` with the member, for an expression that is invalid or too long. */
export function expectNameFilter(regex: string | null): void {
  if (regex === null) return
  if (regex.length > MAX_CHARS) throw refused(`is longer than ${MAX_CHARS} characters`)
  try {
    void new RegExp(`^(?:${regex})`)
  } catch (cause) {
    throw refused(`is not a regular expression: ${regex}`, cause)
  }
}

const refused = (why: string, cause?: unknown) =>
  invalidInput(`filter_tools_regex ${why}`, ['filter_tools_regex'], { cause })

/**
 * Matches from the start of a name; null when the time for all names is up. Its source text also runs in another
 * program
 * (`boundedMatchSource`), so it uses only its parameters.
 */
function boundedMatch(regex: string, limitMs: number, { createContext, Script }: typeof vm): Match {
  const names = { expression: new RegExp(`^(?:${regex})`), name: '' }
  const context = createContext(names)
  const script = new Script('expression.test(name)')
  let leftMs = limitMs
  let newest = performance.now()
  return (name) => {
    const begun = performance.now()
    // A hundredth of the elapsed time is returned, for lists that are read repeatedly.
    leftMs = Math.min(limitMs, leftMs + (begun - newest) / 100)
    newest = begun
    if (leftMs < 1) return null
    names.name = name
    try {
      return script.runInContext(context, { timeout: Math.ceil(leftMs) }) === true
    } catch {
      // The time is up, or the expression is too large for the engine.
      return null
    } finally {
      leftMs -= performance.now() - begun
    }
  }
}

/**
 * Source text of a function of the expression, the limit in milliseconds and the module `node:vm`, for a program
 * without our
 * files. The function returns a predicate of names, which returns null when the time is up.
 */
export const boundedMatchSource = (): string => `(${boundedMatch.toString()})`
