/** Three things that no policy of patterns can take away. Source: seed: Security analyzers; agent-core.md 4.7; F25. */
import { assessed, type Analyzer } from './analyzer.ts'
import { executableCorpus } from './corpus.ts'
import { dangersOf } from './dangers.ts'
import { normalize, normalizeLines } from './normalize.ts'
import { Pace } from './pace.ts'
import { isCatastrophic, isRawDevice } from './paths.ts'
import { readShell } from './shell.ts'

const LIMIT_MS = 2000

/** Each text of the arguments is judged by itself: what stands in two of them never adds up. */
export function openPolicyRail(): Analyzer {
  return {
    async assess(call, { working_dir }, signal) {
      const { segments, isTruncated } = executableCorpus(call)
      const pace = new Pace(LIMIT_MS, signal)
      let isPartial = isTruncated
      for (const segment of segments) {
        const read = readSegment(segment, working_dir)
        if (read === 'fires') return assessed('HIGH')
        isPartial ||= read === 'partial'
        await pace.rest()
      }
      return assessed(isPartial ? 'UNKNOWN' : 'LOW')
    },
  }
}

/** Whether a rail fires on this one text; `partial`: not on what could be read of it. */
function readSegment(segment: string, workingDir: string | null): 'fires' | 'partial' | 'clear' {
  const { found, isPartial } = dangersOf(readShell(normalizeLines(segment)), workingDir)
  if (found.some(({ rail }) => rail !== undefined)) return 'fires'
  // Text for another program, such as a line of Python, is no shell command and can hold one.
  const text = normalize(segment)
  if (FETCH_TO_EXEC.test(text) || rawDisk(text) || deletes(text, workingDir)) return 'fires'
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
    // Where text stands in other text nobody knows the folder it is run in.
    if (isForced && places.some((place) => /^[/~]/.test(place) && isCatastrophic(place, '.', workingDir))) return true
  }
  return false
}
