/** Lines of a patch in the unified format, with their numbers. Pure. */

export type PatchLine = {
  /** `gap`: the unchanged lines before a hunk, and the heading of the hunk. */
  readonly kind: 'same' | 'added' | 'removed' | 'gap'
  readonly text: string
  /** Numbers of the line before and after; null where it does not exist. */
  readonly before: number | null
  readonly after: number | null
  /** Lines left out; 1 for other kinds. */
  readonly count: number
}

/** Two lines beside each other; null where one side has none. A gap is on both sides. */
export type Pair = { readonly left: PatchLine | null; readonly right: PatchLine | null }

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@ ?(.*)$/

export function linesOf(patch: string): readonly PatchLine[] {
  const lines: PatchLine[] = []
  let [before, after, isInside] = [1, 1, false]
  for (const text of patch.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(text)
    if (hunk !== null) {
      const [, from = '1', , to = '1', heading = ''] = hunk
      const skipped = Math.max(0, Number(from) - before)
      if (isInside || skipped > 0) lines.push({ kind: 'gap', text: heading, before: null, after: null, count: skipped })
      ;[before, after, isInside] = [Number(from), Number(to), true]
    } else if (isInside && text.startsWith('+')) {
      lines.push({ kind: 'added', text: text.slice(1), before: null, after: after++, count: 1 })
    } else if (isInside && text.startsWith('-')) {
      lines.push({ kind: 'removed', text: text.slice(1), before: before++, after: null, count: 1 })
    } else if (isInside && text.startsWith(' ')) {
      lines.push({ kind: 'same', text: text.slice(1), before: before++, after: after++, count: 1 })
    }
  }
  return lines
}

/** The lines of a patch for two columns: removed lines beside the added ones that follow them. */
export function pairsOf(lines: readonly PatchLine[]): readonly Pair[] {
  const pairs: Pair[] = []
  let removed: PatchLine[] = []
  let added: PatchLine[] = []
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push({ left: removed[at] ?? null, right: added[at] ?? null })
    ;[removed, added] = [[], []]
  }
  for (const line of lines) {
    if (line.kind === 'removed') {
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.kind === 'added') added.push(line)
    else {
      flush()
      pairs.push({ left: line, right: line })
    }
  }
  flush()
  return pairs
}
