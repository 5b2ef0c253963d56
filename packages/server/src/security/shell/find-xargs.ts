/** Commands that `find`, `xargs` and `parallel` run. Pure. */
import { posix } from 'node:path'
import { UNKNOWN } from './shell-state.ts'

/** The commands that `xargs` or `parallel` runs for its input. */
export function xargsCommands(words: readonly string[], input: string): string[][] {
  const { words: command, replaces } = xargsCommand(words)
  if (command.length === 0) return []
  const given = input.trim() === '' || input === UNKNOWN ? [UNKNOWN] : input.trim().split(/\s+/)
  return [
    replaces === null
      ? [...command, ...given]
      : command.map((word) => word.replaceAll(replaces, () => given.join(' '))),
  ]
}

/** The commands that `find` runs for the files it finds. */
export function findCommands(words: readonly string[]): string[][] {
  const { roots, isFiltered, runs } = parseFind(words)
  const found = roots.map((root) => (isFiltered ? posix.join(root, UNKNOWN) : root))
  return runs.map((run) =>
    run.flatMap((word) => (word === '{}' ? found : [word.replaceAll('{}', () => found.join(' '))])),
  )
}

function xargsCommand(words: readonly string[]): { words: readonly string[]; replaces: string | null } {
  let replaces: string | null = null
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]!
    if (!word.startsWith('-') || word === '-') break
    const inline = /^(?:-[Ii]|--replace=)(.+)$/.exec(word)
    if (inline !== null) replaces = inline[1]!
    else if (word === '-I') replaces = words[++at] ?? null
    else if (word === '-i' || word === '--replace') replaces = '{}'
    else if (/^-(?:[0rtpxo]*[LnsPEdaj]|-(?:max-\w+|arg-file|delimiter|eof|process-slot-var|jobs))$/.test(word)) at++
  }
  if (words[0]?.endsWith('parallel') === true) replaces ??= words.includes('{}') ? '{}' : null
  return { words: words.slice(at), replaces }
}

/** A parsed `find` command. */
export type FindExpression = {
  roots: readonly string[]
  /** True when a condition restricts the files. */
  isFiltered: boolean
  deletes: boolean
  /** Commands that run for the files. */
  runs: readonly (readonly string[])[]
}

export function parseFind(words: readonly string[]): FindExpression {
  let at = 1
  while (/^-(?:[HLP]|O\d|D)$/.test(words[at] ?? '')) at += words[at] === '-D' ? 2 : 1
  const roots: string[] = []
  for (; at < words.length && !/^(?:-.|[(!)])/.test(words[at]!); at++) roots.push(words[at]!)
  const runs: string[][] = []
  let isFiltered = false
  let deletes = false
  for (; at < words.length; at++) {
    const word = words[at]!
    if (word === '-delete') deletes = true
    else if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) {
      const run: string[] = []
      for (at++; at < words.length && words[at] !== ';' && words[at] !== '+'; at++) run.push(words[at]!)
      runs.push(run)
    } else if (/^-i?(?:name|path|regex|wholename|lname)$/.test(word)) {
      // A pattern that matches every name restricts nothing.
      if (!/^(?:\.?\*)+$/.test(words[at + 1] ?? '')) isFiltered = true
    } else if (
      /^-(?:[acm](?:time|min)|newer\w*|size|empty|user|group|uid|gid|perm|inum|links|samefile|nouser|nogroup)$/.test(
        word,
      )
    ) {
      isFiltered = true
    }
  }
  return { roots: roots.length === 0 ? ['.'] : roots, isFiltered, deletes, runs }
}
