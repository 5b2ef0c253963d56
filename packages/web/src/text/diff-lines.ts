/** The difference of two texts as lines, with unchanged parts left out. No DOM. */
import { diffLines } from 'diff/lib/diff/line.js'

export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed' | 'gap'
  readonly text: string
  /** Line numbers before and after; null where the line does not exist. For a gap: the number of lines left out is in `count`. */
  readonly before: number | null
  readonly after: number | null
  readonly count: number
}

export type Difference = { readonly lines: readonly DiffLine[]; readonly added: number; readonly removed: number }

/** Unchanged lines around a change. */
const CONTEXT = 3
/** Texts with more characters are shown as removed and added as a whole: comparing them would stop the page. */
const MAX_CHARS = 400_000
/** Changes that are compared before the rest is taken as replaced. */
const MAX_EDITS = 4000

/** The difference between two texts; null stands for a file that does not exist. */
export function differenceOf(before: string | null, after: string | null, startLine = 1): Difference {
  const [old, fresh] = [before ?? '', after ?? '']
  const parts = partsOf(old, fresh)
  const lines: DiffLine[] = []
  let [at, to, added, removed] = [startLine, startLine, 0, 0]
  for (const part of parts) {
    for (const text of splitLines(part.value)) {
      if (part.added) lines.push({ kind: 'added', text, before: null, after: to++, count: 1 })
      else if (part.removed) lines.push({ kind: 'removed', text, before: at++, after: null, count: 1 })
      else lines.push({ kind: 'same', text, before: at++, after: to++, count: 1 })
      if (part.added) added++
      if (part.removed) removed++
    }
  }
  return { lines: withGaps(lines), added, removed }
}

type Part = { value: string; added: boolean; removed: boolean }

function partsOf(old: string, fresh: string): readonly Part[] {
  const changes =
    old.length + fresh.length > MAX_CHARS
      ? undefined
      : diffLines(old, fresh, { maxEditLength: MAX_EDITS, timeout: 200 })
  return (
    changes ?? [
      { value: old, added: false, removed: true },
      { value: fresh, added: true, removed: false },
    ]
  )
}

const splitLines = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length)
  lines.forEach(({ kind }, index) => {
    if (kind === 'same') return
    isNear.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1)
  })
  const kept: DiffLine[] = []
  lines.forEach((line, index) => {
    if (isNear[index] === 1) return void kept.push(line)
    const last = kept.at(-1)
    if (last?.kind === 'gap') kept[kept.length - 1] = { ...last, count: last.count + 1 }
    else kept.push({ kind: 'gap', text: '', before: line.before, after: line.after, count: 1 })
  })
  return kept
}

/** The lines of a patch in the unified form, or in that of `apply_patch`. */
export function patchLines(patch: string): Difference {
  const lines = splitLines(patch).map((text): DiffLine => {
    const kind = /^\+(?!\+\+ )/.test(text) ? 'added' : /^-(?!-- )/.test(text) ? 'removed' : 'same'
    return { kind, text: kind === 'same' ? text : text.slice(1), before: null, after: null, count: 1 }
  })
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length
  return { lines, added: count('added'), removed: count('removed') }
}
