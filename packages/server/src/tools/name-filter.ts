/**
 * The agent's filter for names of tools, which strangers may have chosen: servers, clients. The only place where the expression
 * of `filter_tools_regex` meets a name. Source: agent-core.md 8.1 (2).
 */
import * as vm from 'node:vm'
import { ParleyError } from '@parley/protocol'

/** Milliseconds that one filter may take at once for all names together. */
const LIMIT_MS = 250
const MAX_CHARS = 2000

type Match = (name: string) => boolean | null

export type NameFilterOptions = {
  /** Makes a matcher of whole texts that needs linear time; null for an expression that it cannot do. Absent: there is none. */
  linear?: (pattern: string) => ((text: string) => boolean) | null
  /** Asked about a name when the time is up. Default: it is not let through. */
  onTimeUp?: (name: string) => boolean
}

/**
 * Whether a name is let through: the expression matches from its start, as far as it goes. What cannot be done in linear time
 * (such as looking ahead) is done with a limit for all names.
 * @throws ParleyError `invalid_input` for what is no expression, or too long.
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

/** @throws ParleyError `invalid_input` naming the member, for what is no expression, or too long. */
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
  new ParleyError('invalid_input', `filter_tools_regex ${why}`, { details: { member: 'filter_tools_regex' }, cause })

/**
 * Matches from the start of a name; null when the time for all names together is up. Its text is also a part of a program of
 * its own (`boundedMatchSource`), so it uses nothing but its parameters.
 */
function boundedMatch(regex: string, limitMs: number, { createContext, Script }: typeof vm): Match {
  const names = { expression: new RegExp(`^(?:${regex})`), name: '' }
  const context = createContext(names)
  const script = new Script('expression.test(name)')
  let leftMs = limitMs
  let newest = performance.now()
  return (name) => {
    const begun = performance.now()
    // A hundredth of the time that goes by comes back, for lists that are read again and again.
    leftMs = Math.min(limitMs, leftMs + (begun - newest) / 100)
    newest = begun
    if (leftMs < 1) return null
    names.name = name
    try {
      return script.runInContext(context, { timeout: Math.ceil(leftMs) }) === true
    } catch {
      // Out of time, or too large for the machine.
      return null
    } finally {
      leftMs -= performance.now() - begun
    }
  }
}

/**
 * JavaScript text of a function of the expression, the limit in milliseconds and the module `node:vm`, for a program that has
 * none of our files. It makes a function that says of a name whether it is let through; null when the time is up.
 */
export const boundedMatchSource = (): string => `(${boundedMatch.toString()})`
