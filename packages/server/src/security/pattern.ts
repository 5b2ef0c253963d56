/** Known signs of danger: four lists of expressions, and what a parse of the command tells. Source: agent-core.md 4.6; F25, F75. */
import type { PatternSecurityAnalyzer, SecurityRisk } from '@parley/protocol'
import { assessed, type Analyzer } from './analyzer.ts'
import {
  compilePatterns,
  findPattern,
  patternBudget,
  type CompiledPattern,
  type PatternBudget,
} from './compile-patterns.ts'
import { executableCorpus, textCorpus, type Corpus } from './corpus.ts'
import { dangersOf, type Dangers } from './dangers.ts'
import {
  HIGH_PATTERNS,
  INJECTION_HIGH_PATTERNS,
  INJECTION_MEDIUM_PATTERNS,
  MEDIUM_PATTERNS,
} from './default-patterns.ts'
import { writtenBy } from './edits.ts'
import { normalize, normalizeLines } from './normalize.ts'
import { OutOfTime, Pace } from './pace.ts'
import { isEntrance } from './paths.ts'
import { readShell } from './shell.ts'

/** Milliseconds for one call; only lists of the largest allowed size on texts of the worst kind come near. */
const LIMIT_MS = 2000

type Lists = Record<'high' | 'medium' | 'injectionHigh' | 'injectionMedium', readonly CompiledPattern[]>

/** @throws ParleyError `invalid_input` for a list that can't be compiled. */
export function openPattern(config: PatternSecurityAnalyzer, budget: PatternBudget = patternBudget()): Analyzer {
  const lists: Lists = {
    high: compiled('high_patterns', config.high_patterns, budget),
    medium: compiled('medium_patterns', config.medium_patterns, budget),
    injectionHigh: compiled('injection_high_patterns', config.injection_high_patterns, budget),
    injectionMedium: compiled('injection_medium_patterns', config.injection_medium_patterns, budget),
  }
  return {
    async assess(call, { working_dir }, signal) {
      const executable = executableCorpus(call)
      const said = textCorpus(call)
      const pace = new Pace(LIMIT_MS, signal)
      const writesEntrance = writtenBy(call.action).some((path) => isEntrance(path, '.'))
      if (writesEntrance) return assessed('HIGH')
      try {
        return assessed(await risk(lists, executable, said, working_dir, pace))
      } catch (error) {
        if (error instanceof OutOfTime) return assessed('UNKNOWN')
        throw error
      }
    },
  }
}

async function risk(
  lists: Lists,
  executable: Corpus,
  said: Corpus,
  workingDir: string | null,
  pace: Pace,
): Promise<SecurityRisk> {
  const code = normalize(executable.segments.join(' '))
  const all = normalize([...executable.segments, ...said.segments].join(' '))
  if (await findPattern(lists.high, code, pace)) return 'HIGH'
  if (await findPattern(lists.injectionHigh, all, pace)) return 'HIGH'
  const structure = await scan(executable, workingDir, pace)
  if (structure.found.length > 0) return 'HIGH'
  // What could not be read may be worse than what could (F75).
  if (structure.isUncertain || executable.isTruncated || said.isTruncated) return 'UNKNOWN'
  if (await findPattern(lists.medium, code, pace)) return 'MEDIUM'
  return (await findPattern(lists.injectionMedium, all, pace)) ? 'MEDIUM' : 'LOW'
}

/** Each text is read as a script of its own. */
async function scan(
  { segments }: Corpus,
  workingDir: string | null,
  pace: Pace,
): Promise<Pick<Dangers, 'found' | 'isUncertain'>> {
  const found: Dangers['found'][number][] = []
  let isUncertain = false
  for (const segment of segments) {
    const dangers = dangersOf(readShell(normalizeLines(segment)), workingDir)
    found.push(...dangers.found)
    isUncertain ||= dangers.isUncertain
    await pace.rest()
  }
  return { found, isUncertain }
}

const DEFAULTS = {
  high_patterns: HIGH_PATTERNS,
  medium_patterns: MEDIUM_PATTERNS,
  injection_high_patterns: INJECTION_HIGH_PATTERNS,
  injection_medium_patterns: INJECTION_MEDIUM_PATTERNS,
}
const builtIn: Partial<Record<keyof typeof DEFAULTS, readonly CompiledPattern[]>> = {}

/** The built-in lists are compiled once, when first needed. */
function compiled(
  list: keyof typeof DEFAULTS,
  given: PatternSecurityAnalyzer['high_patterns'],
  budget: PatternBudget,
): readonly CompiledPattern[] {
  return given === undefined
    ? (builtIn[list] ??= compilePatterns(DEFAULTS[list], list, patternBudget()))
    : compilePatterns(given, list, budget)
}
