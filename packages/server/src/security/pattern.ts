/** Analyzer for known dangers: four lists of expressions and a parse of the command. Source: agent-core.md 4.6; F25, F75. */
import type { PatternSecurityAnalyzer } from '@parley/protocol'
import { assessmentOf, type Analyzer, type Assessment, type Finding } from './analyzer.ts'
import {
  compilePatterns,
  findPattern,
  patternBudget,
  type CompiledPattern,
  type PatternBudget,
} from './compile-patterns.ts'
import { argumentCorpus, proseCorpus, type Corpus } from './corpus.ts'
import { DANGERS, dangersOf, type Dangers } from './dangers.ts'
import {
  HIGH_PATTERNS,
  INJECTION_HIGH_PATTERNS,
  INJECTION_MEDIUM_PATTERNS,
  MEDIUM_PATTERNS,
} from './default-patterns.ts'
import { writtenPaths } from './written-paths.ts'
import { normalize, normalizeLines } from './normalize.ts'
import { TimeBudgetExceeded, TimeBudget } from './time-budget.ts'
import { isPersistenceFile } from './paths.ts'
import { readShell } from './shell/reader.ts'

/** Milliseconds for one call; only the largest allowed lists on the worst texts come near. */
const LIMIT_MS = 2000

type Lists = Record<'high' | 'medium' | 'injectionHigh' | 'injectionMedium', readonly CompiledPattern[]>

/** @throws ParleyError `invalid_input` for a list that cannot be compiled. */
export function openPattern(config: PatternSecurityAnalyzer, budget: PatternBudget = patternBudget()): Analyzer {
  const lists: Lists = {
    high: compiled('high_patterns', config.high_patterns, budget),
    medium: compiled('medium_patterns', config.medium_patterns, budget),
    injectionHigh: compiled('injection_high_patterns', config.injection_high_patterns, budget),
    injectionMedium: compiled('injection_medium_patterns', config.injection_medium_patterns, budget),
  }
  return {
    async assess(call, { working_dir }, signal) {
      const args = argumentCorpus(call)
      const prose = proseCorpus(call)
      const budget = new TimeBudget(LIMIT_MS, signal)
      const persistent = writtenPaths(call.action).find((path) => isPersistenceFile(path, '.'))
      if (persistent !== undefined) return found('HIGH', { ...PERSISTENCE, match: persistent })
      try {
        return await riskOf(lists, args, prose, working_dir, budget)
      } catch (error) {
        if (error instanceof TimeBudgetExceeded) return found('UNKNOWN', UNREAD)
        throw error
      }
    },
  }
}

async function riskOf(
  lists: Lists,
  args: Corpus,
  prose: Corpus,
  workingDir: string | null,
  budget: TimeBudget,
): Promise<Assessment> {
  const code = normalize(args.segments.join(' '))
  const all = normalize([...args.segments, ...prose.segments].join(' '))
  const high = (await findPattern(lists.high, code, budget)) ?? (await findPattern(lists.injectionHigh, all, budget))
  if (high !== null) return found('HIGH', findingOf(high))
  const structure = await scan(args, workingDir, budget)
  const [danger] = structure.found
  if (danger !== undefined) return found('HIGH', { rule: danger.id, text: DANGERS[danger.id] ?? danger.id })
  // A part that was not read may be worse than MEDIUM (F75).
  if (structure.isUncertain || args.isTruncated || prose.isTruncated) return found('UNKNOWN', UNREAD)
  const medium =
    (await findPattern(lists.medium, code, budget)) ?? (await findPattern(lists.injectionMedium, all, budget))
  return medium === null ? assessmentOf('LOW') : found('MEDIUM', findingOf(medium))
}

const found = (risk: Assessment['risk'], finding: Finding): Assessment =>
  assessmentOf(risk, 'PatternSecurityAnalyzer', finding)

const findingOf = ({ id, description, match }: { id: string; description: string; match: string }): Finding => ({
  rule: id,
  text: description,
  match,
})

const PERSISTENCE: Finding = { rule: 'write.persistence', text: 'writes a file that runs by itself later' }
const UNREAD: Finding = { rule: 'analysis.unread', text: 'a part of the call could not be read' }

/** Reads each text as a separate script. */
async function scan(
  { segments }: Corpus,
  workingDir: string | null,
  budget: TimeBudget,
): Promise<Pick<Dangers, 'found' | 'isUncertain'>> {
  const found: Dangers['found'][number][] = []
  let isUncertain = false
  for (const segment of segments) {
    const dangers = dangersOf(readShell(normalizeLines(segment)), workingDir)
    found.push(...dangers.found)
    isUncertain ||= dangers.isUncertain
    await budget.checkpoint()
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

/** Compiles a list; the built-in lists are compiled once, when first needed. */
function compiled(
  list: keyof typeof DEFAULTS,
  given: PatternSecurityAnalyzer['high_patterns'],
  budget: PatternBudget,
): readonly CompiledPattern[] {
  return given === undefined
    ? (builtIn[list] ??= compilePatterns(DEFAULTS[list], list, patternBudget()))
    : compilePatterns(given, list, budget)
}
