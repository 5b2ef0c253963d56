/** Triggers of skills: words of messages, and paths of files. Pure. Source: agent-core.md 6.4. */
import type { Skill } from '@parley/protocol'

/** Characters of the longest keyword; longer ones are ignored. */
const MAX_WORD_CHARS = 200
const MAX_PATTERN_CHARS = 512

/** Compiled once per skill, for as long as something refers to the skill. */
const compiled = new WeakMap<Skill, readonly { word: string; pattern: RegExp }[]>()

/** The keyword of the skill that `text` contains; null when there is none. */
export function wordFor(skill: Skill, text: string): string | null {
  let known = compiled.get(skill)
  if (known === undefined) {
    known = wordsOf(skill).map((word) => ({ word, pattern: wholeWord(word) }))
    compiled.set(skill, known)
  }
  return known.find(({ pattern }) => pattern.test(text))?.word ?? null
}

function wordsOf({ trigger }: Skill): string[] {
  const words = trigger?.type === 'keyword' ? trigger.keywords : trigger?.type === 'task' ? trigger.triggers : []
  return words.map((word) => word.trim()).filter((word) => word !== '' && word.length <= MAX_WORD_CHARS)
}

/** Matches whole words in any case: `git` is not in `github`, and `über` is not in `darüber`. */
function wholeWord(word: string): RegExp {
  const literal = word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])${literal}(?![\\p{L}\\p{M}\\p{N}])`, 'iu')
}

/** True when the skill is a rule for this path, which is relative to the workspace and has slashes. */
export function isAbout({ trigger }: Skill, path: string): boolean {
  return trigger?.type === 'path' && trigger.paths.some((pattern) => matchesPath(pattern, path))
}

/** `**` matches folders at any depth, `*` any part of a name, `?` one character; a pattern without a slash matches at any depth. */
export function matchesPath(pattern: string, path: string): boolean {
  if (pattern.length > MAX_PATTERN_CHARS) return false
  const parts = pattern.replace(/^\.?\//, '').split('/')
  const wanted = parts.length === 1 ? ['**', ...parts] : parts
  return matchesParts(wanted, path.split('/'))
}

/** Dynamic programming, so that the cost does not grow exponentially with the number of `**`. */
function matchesParts(pattern: readonly string[], path: readonly string[]): boolean {
  // reachable[i]: the pattern so far matches the first i parts of the path.
  let reachable = [true, ...path.map(() => false)]
  for (const [at, part] of pattern.entries()) {
    const next = reachable.map(() => false)
    const isLast = at === pattern.length - 1
    let seen = false
    for (let i = 0; i < reachable.length; i++) {
      if (part === '**') {
        seen ||= reachable[i]!
        // At the end, `**` matches everything below a folder, but not the folder itself.
        next[i] = isLast ? reachable.slice(0, i).includes(true) : seen
      } else if (i > 0) next[i] = reachable[i - 1]! && matchesName(part, path[i - 1]!)
    }
    reachable = next
  }
  return reachable.at(-1)!
}

/** Two pointers: on a mismatch, the last star takes one more character. */
function matchesName(pattern: string, name: string): boolean {
  let p = 0
  let n = 0
  let star = -1
  let taken = 0
  while (n < name.length) {
    if (pattern[p] === '*') {
      star = p++
      taken = n
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++
      n++
    } else if (star !== -1) {
      p = star + 1
      n = ++taken
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
