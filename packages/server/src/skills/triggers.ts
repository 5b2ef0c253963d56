/** What brings a skill into a conversation: a word of a message, or a file that is touched. Pure. Source: agent-core.md 6.4. */
import type { Skill } from '@parley/protocol'

/** Words longer than this are no words that somebody types. */
const MAX_WORD_CHARS = 200
const MAX_PATTERN_CHARS = 512

/** Compiled once per skill, for as long as something holds the skill. */
const compiled = new WeakMap<Skill, readonly { word: string; pattern: RegExp }[]>()

/** The word of `text` that a skill waits for; null when there is none, or it waits for no word. */
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

/** The word by itself in any case: `git` is not in `github`, and `über` is not in `darüber`. */
function wholeWord(word: string): RegExp {
  const literal = word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])${literal}(?![\\p{L}\\p{M}\\p{N}])`, 'iu')
}

/** Whether a path relative to the workspace, with slashes, is one of those that a skill waits for. */
export function isAbout({ trigger }: Skill, path: string): boolean {
  return trigger?.type === 'path' && trigger.paths.some((pattern) => matchesPath(pattern, path))
}

/** `**` stands for folders at any depth, `*` for any part of a name, `?` for one character; without a slash, at any depth. */
export function matchesPath(pattern: string, path: string): boolean {
  if (pattern.length > MAX_PATTERN_CHARS) return false
  const parts = pattern.replace(/^\.?\//, '').split('/')
  const wanted = parts.length === 1 ? ['**', ...parts] : parts
  return matchesParts(wanted, path.split('/'))
}

/** Row by row, so that many `**` cost no more than few. */
function matchesParts(pattern: readonly string[], path: readonly string[]): boolean {
  // reachable[i]: the pattern so far fits the first i parts of the path.
  let reachable = [true, ...path.map(() => false)]
  for (const [at, part] of pattern.entries()) {
    const next = reachable.map(() => false)
    const isLast = at === pattern.length - 1
    let seen = false
    for (let i = 0; i < reachable.length; i++) {
      if (part === '**') {
        seen ||= reachable[i]!
        // At the end it stands for what is below a folder, not for the folder.
        next[i] = isLast ? reachable.slice(0, i).includes(true) : seen
      } else if (i > 0) next[i] = reachable[i - 1]! && matchesName(part, path[i - 1]!)
    }
    reachable = next
  }
  return reachable.at(-1)!
}

/** Two fingers: where a star cannot go on, it takes one more character. */
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
