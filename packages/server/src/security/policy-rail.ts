/** Analyzer for three dangers that no list of patterns can turn off. Source: interface.md, Security analyzers; agent-core.md 4.7; F25. */
import { assessmentOf, type Analyzer, type Finding } from './analyzer.ts'
import { argumentCorpus } from './corpus.ts'
import { dangersOf, type Rail } from './dangers.ts'
import { normalize, normalizeLines } from './normalize.ts'
import { TimeBudget } from './time-budget.ts'
import { isCatastrophic, isRawDevice } from './paths.ts'
import { readShell } from './shell/reader.ts'

const LIMIT_MS = 2000
const ANALYZER = 'PolicyRailSecurityAnalyzer'
const UNREAD: Finding = { rule: 'analysis.unread', text: 'a part of the call could not be read' }
const RAILS: Readonly<Record<Rail, string>> = {
  'fetch-to-exec': 'executes what it fetches from the network',
  'raw-disk-op': 'writes to a raw disk',
  'catastrophic-delete': 'deletes a whole system, home or workspace',
}

/** Assesses each text of the arguments separately; parts of two texts never combine to a danger. */
export function openPolicyRail(): Analyzer {
  return {
    async assess(call, { working_dir }, signal) {
      const { segments, isTruncated } = argumentCorpus(call)
      const budget = new TimeBudget(LIMIT_MS, signal)
      let isPartial = isTruncated
      for (const segment of segments) {
        const result = readSegment(segment, working_dir)
        if (typeof result === 'object') return assessmentOf('HIGH', ANALYZER, result)
        isPartial ||= result === 'partial'
        await budget.checkpoint()
      }
      return isPartial ? assessmentOf('UNKNOWN', ANALYZER, UNREAD) : assessmentOf('LOW')
    },
  }
}

/** The rail that fires on one text. `partial`: none fires on the part that was read. */
function readSegment(segment: string, workingDir: string | null): Finding | 'partial' | 'clear' {
  const { found, isPartial } = dangersOf(readShell(normalizeLines(segment)), workingDir)
  const rail = found.find((danger) => danger.rail !== undefined)?.rail
  if (rail !== undefined) return { rule: rail, text: RAILS[rail] }
  // Text for another program, such as a line of Python, may contain a shell command.
  const text = normalize(segment)
  const fetched = FETCH_TO_EXEC.exec(text)
  if (fetched !== null) return { rule: 'fetch-to-exec', text: RAILS['fetch-to-exec'], match: fetched[0] }
  if (rawDisk(text)) return { rule: 'raw-disk-op', text: RAILS['raw-disk-op'] }
  if (deletes(text, workingDir)) return { rule: 'catastrophic-delete', text: RAILS['catastrophic-delete'] }
  return isPartial ? 'partial' : 'clear'
}

const FETCH_TO_EXEC = /\b(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo\s+)?(?:[\w./]*\/)?(?:ba|z|da|k)?sh\b/i
const MKFS = /\bmkfs\.\w+\s/i
const DD = /\bdd\s.{0,100}?\bof=(\/dev\/[\w/.-]{1,60})/gi
const RM = /(?:^|[^\w.-])rm\s+((?:-{1,2}[a-z][\w=-]{0,30}\s+){1,6})([^;&|]{1,60})/gi

const rawDisk = (text: string): boolean =>
  MKFS.test(text) || [...text.matchAll(DD)].some(([, device]) => isRawDevice(device!.toLowerCase()))

function deletes(text: string, workingDir: string | null): boolean {
  for (const [, flags, targets] of text.matchAll(RM)) {
    const letters = flags!
      .toLowerCase()
      .replace(/--recursive/g, '-r')
      .replace(/--force/g, '-f')
    const isForced = /(?:^|\s)-[a-z]*r/.test(letters) && /(?:^|\s)-[a-z]*f/.test(letters)
    const places = targets!.split(/\s+/).map((target) => target.replace(/^["'`(]+|["'`)\\,]+$/g, ''))
    // For a command inside other text, the current folder is unknown, so only absolute paths count.
    if (isForced && places.some((place) => /^[/~]/.test(place) && isCatastrophic(place, '.', workingDir))) return true
  }
  return false
}
