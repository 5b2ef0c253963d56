/** Compiles lists of users' regular expressions so that matching takes linear time. Source: agent-core.md 4.6; F27. */
import { invalidInput, type PatternEntry } from '@parley/protocol'
import { RE2JS } from 're2js'
import type { TimeBudget } from './time-budget.ts'

/** Maximum number of entries of one list. */
const MAX_ENTRIES = 200
const MAX_PATTERN_CHARS = 2000
/** Maximum instructions of one compiled expression; a bounded repetition counts once per possible repetition. */
const MAX_SIZE = 1500
/** Maximum instructions of all lists of one configuration, because compilation blocks the event loop. */
const MAX_TOTAL_SIZE = 12_000
/** Maximum product of instructions and characters of one match, about 25 ms in the worst case. */
const MAX_STEPS = 500_000

/** Remaining instructions for the following lists. */
export type PatternBudget = { size: number }
export const patternBudget = (): PatternBudget => ({ size: MAX_TOTAL_SIZE })

export type CompiledPattern = { id: string; description: string; expression: RE2JS; size: number }

/**
 * Compiles one list.
 * @throws ParleyError `invalid_input` naming the list, the entry and what is wrong with it.
 */
export function compilePatterns(
  entries: readonly PatternEntry[],
  list: string,
  budget: PatternBudget,
): CompiledPattern[] {
  if (entries.length > MAX_ENTRIES) {
    throw invalidInput(`${list} has ${entries.length} entries; at most ${MAX_ENTRIES} are allowed.`, [list])
  }
  return entries.map(([pattern, description, id], index) => {
    const refuse = (why: string, cause?: unknown): never => {
      throw invalidInput(`${list}[${index}] ${why}`, [list, index], { cause })
    }
    if (pattern.length > MAX_PATTERN_CHARS) refuse(`is longer than ${MAX_PATTERN_CHARS} characters.`)
    const expression = compile(pattern, refuse)
    const size = expression.programSize()
    if (size > MAX_SIZE) refuse('is too large once its repetitions are counted out. Repeat less, or split it.')
    budget.size -= size
    if (budget.size < 0) refuse('is one too many: all expressions together are too large.')
    return { id, description, expression, size }
  })
}

function compile(pattern: string, refuse: (why: string, cause?: unknown) => never): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL)
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error)
    return refuse(
      `is no regular expression that runs in linear time (RE2 syntax: no look-around, no back-references): ${reason}`,
      error,
    )
  }
}

/**
 * The first pattern that matches in the text, and the words that it matches; null for none. A text that is too long for a large expression is searched in overlapping
 * windows, with a pause after each. A match longer than half a window may then be missed at a window border, and an anchor may
 * match there.
 */
export async function findPattern(
  patterns: readonly CompiledPattern[],
  text: string,
  budget: TimeBudget,
): Promise<{ id: string; description: string; match: string } | null> {
  for (const { id, description, expression, size } of patterns) {
    const window = Math.max(1000, Math.floor(MAX_STEPS / size))
    for (let at = 0; ; at += Math.ceil(window / 2)) {
      const isLast = at + window >= text.length
      const part = at === 0 && isLast ? text : text.slice(at, at + window)
      if (expression.test(part)) return { id, description, match: matchIn(expression, part) }
      await budget.checkpoint()
      if (isLast) break
    }
  }
  return null
}

function matchIn(expression: RE2JS, text: string): string {
  const matcher = expression.matcher(text)
  return matcher.find() ? (matcher.group() ?? '') : ''
}
