/** The branches of a log as segments: chains of events without a fork, which also end at the leaf. Pure. */
import { type Entry, isTree } from './entry.ts'

export type Segment = {
  /** `seq` of the first and of the last event. */
  readonly first: number
  readonly last: number
  readonly count: number
  /** Number of forks above it. */
  readonly depth: number
  /** Part of the branch that is shown. */
  readonly isShown: boolean
  /** Ends at the leaf, where the conversation continues. */
  readonly isLeaf: boolean
  /** `seq` of its first message of a person, or of its first event. */
  readonly title: number
  /** Milliseconds since 1970 of its first event; null when unknown. */
  readonly at: number | null
}

type Log = {
  readonly entries: readonly Entry[]
  readonly leaf: number
  rows(): unknown
}

/** Returns a function that gives the segments of a log, and the same list until its rows or its leaf change. */
export function segmentsIn(log: Log): () => readonly Segment[] {
  let knownRows: unknown
  let knownLeaf = 0
  let segments: readonly Segment[] = []
  return () => {
    const rows = log.rows()
    if (rows === knownRows && log.leaf === knownLeaf) return segments
    knownRows = rows
    knownLeaf = log.leaf
    segments = segmentsOf(log.entries, log.leaf)
    return segments
  }
}

type Draft = { -readonly [Member in keyof Segment]: Segment[Member] } & {
  hasMessage: boolean
  readonly parent: Draft | undefined
  readonly children: Draft[]
}

/** The segments of all branches, each before the ones that continue it, older branches first. `leaf`: its `seq`; 0 for the empty tree. */
export function segmentsOf(entries: readonly Entry[], leaf: number): readonly Segment[] {
  const events = entries.filter(isTree)
  const children = new Map<number, number>()
  for (const { parent } of events) children.set(parent, (children.get(parent) ?? 0) + 1)
  const isEnd = (seq: number) => seq === leaf || children.get(seq) !== 1
  const segments = new Map<number, Draft>()
  const roots: Draft[] = []
  for (const entry of events) {
    const before = segments.get(entry.parent)
    const isNew = before === undefined || isEnd(entry.parent)
    const segment = isNew ? begun(entry, before) : before
    if (isNew) (before?.children ?? roots).push(segment)
    segments.set(entry.seq, segment)
    extend(segment, entry)
  }
  const end = segments.get(leaf)
  if (end !== undefined) end.isLeaf = true
  for (let at = end; at !== undefined; at = at.parent) at.isShown = true
  return inOrder(roots)
}

function begun({ seq, at }: Entry, parent: Draft | undefined): Draft {
  const empty = { count: 0, depth: 0, isShown: false, isLeaf: false, hasMessage: false, children: [] }
  return { ...empty, first: seq, last: seq, title: seq, at, parent }
}

function extend(segment: Draft, { seq, kind, from }: Entry): void {
  segment.last = seq
  segment.count++
  if (segment.hasMessage || kind !== 'MessageEvent' || from !== 'user') return
  segment.hasMessage = true
  segment.title = seq
}

/** A segment that continues another one alone, after the leaf, is no deeper than it. */
function inOrder(roots: readonly Draft[]): Segment[] {
  const ordered: Segment[] = []
  const open: Draft[] = []
  const add = (drafts: readonly Draft[], depth: number) => {
    for (const draft of drafts.toReversed()) {
      draft.depth = drafts.length > 1 ? depth + 1 : depth
      open.push(draft)
    }
  }
  add(roots, roots.length > 1 ? -1 : 0)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { parent: _parent, children, hasMessage: _hasMessage, ...segment } = next
    ordered.push(segment)
    add(children, segment.depth)
  }
  return ordered
}
