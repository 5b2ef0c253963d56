/** Removes from a text what differs between runs without a meaning: times, process ids, paths of temporary files. Pure. */
import { movePaths, type Moves } from './moves.ts'

const RULES: readonly (readonly [RegExp, string])[] = [
  [/\r\n?/g, '\n'],
  [/[ \t]+$/gm, ''],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?/g, '<time>'],
  [
    /\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +(?:\d\d:\d\d(?::\d\d)?|\d{4})(?: \w{3,4})?(?: \d{4})?/g,
    '<time>',
  ],
  [/\b\d{4}-\d\d-\d\d\b/g, '<time>'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?/g, '<time>'],
  [/\b\d+m ?\d+(?:\.\d+)?s\b/g, '<duration>'],
  [/\b\d+(?:[.,]\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?)\b/g, '<duration>'],
  [/\bduration_ms:? [\d.]+/g, 'duration_ms <duration>'],
  // Shells report finished jobs at no fixed moment.
  [/^\[\d+\][+-]? +(?:Done|Terminated|Killed|Exit \d+)\b.*\n?/gm, ''],
  [/^(\[\d+\]) \d+$/gm, '$1 <pid>'],
  [/\b(pid|process)([ :=#]+)\d+/gi, '$1$2<pid>'],
  [/\b0x[0-9a-f]{6,16}\b/g, '<address>'],
  // The hash of a commit depends on its time.
  [/^(\[[^\]\n]*?) [0-9a-f]{7,40}\]/gm, '$1 <commit>]'],
  [/\b(commit|HEAD is now at|HEAD detached at) [0-9a-f]{7,40}\b/g, '$1 <commit>'],
  [/(?<![\w./-])(?:\/private)?(?:\/var\/folders\/[\w+]+\/[\w+]+\/T|\/var\/tmp|\/tmp)\/[\w.+-]+/g, '<temp>'],
]

/** Returns the text in the form that is compared. `pids`: process ids of that run. */
export function normalised(text: string, moves: Moves, pids: readonly number[] = []): string {
  let plain = movePaths(text, moves)
  for (const pid of pids) if (pid > 0) plain = plain.replaceAll(new RegExp(`\\b${pid}\\b`, 'g'), '<pid>')
  return RULES.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), plain).trimEnd()
}
