/** Builds the outline of a log from the columns of its rows. */
import type { EventOutline, OutlineType } from '@parley/protocol'
import { TimeSlices } from '../../lib/index.ts'
import type { OutlineRange } from '../contract/events.ts'
import { decisionIn, FAILED, HAS_IMAGES, IS_COMPLETE, riskIn } from './event-columns.ts'

/** Columns of a row, in the order of `OUTLINE_COLUMNS`. */
export type OutlineRow = readonly [
  seq: number,
  kind: string,
  source: string | null,
  tool: string | null,
  parentSeq: number | null,
  refersSeq: number | null,
  flags: number | null,
  size: number | null,
  timestamp: string,
]
export const OUTLINE_COLUMNS = 'seq, kind, source, tool, parent_seq, refers_seq, flags, size, timestamp'

/** Rows that one statement reads. */
const SLICE = 4096
/** Bytes of the unit in which an outline gives sizes. */
const SIZE_UNIT = 64

/** False for a row of an older version, whose columns are computed before an outline shows it. */
export const isComplete = ({ flags }: { flags: number | null }): boolean => flags !== null && (flags & IS_COMPLETE) > 0

export type OutlineSource = {
  /** Newest seq of the log. */
  newest: number
  /** Reads the rows of a range of seqs, ascending. */
  rows: (first: number, last: number) => Promise<OutlineRow[]>
  /** Computes the columns of these rows and stores them. */
  fill: (seqs: readonly number[]) => Promise<void>
}

/** The outline of the newest events of a range, in slices between other work. */
export async function readOutline(source: OutlineSource, range: OutlineRange): Promise<EventOutline> {
  const last = Math.min(source.newest, range.before - 1)
  const first = Math.max(1, range.after + 1, last - range.limit + 1)
  const outline = new OutlineBuilder(source.newest)
  const slices = new TimeSlices()
  for (let low = first; low <= last; low += SLICE) {
    const high = Math.min(last, low + SLICE - 1)
    let rows = await source.rows(low, high)
    const old = rows.filter(([, , , , , , flags]) => !isComplete({ flags })).map(([seq]) => seq)
    if (old.length > 0) {
      await source.fill(old)
      rows = await source.rows(low, high)
    }
    for (const row of rows) outline.add(row)
    await slices.next()
  }
  return outline.outline
}

class OutlineBuilder {
  readonly outline: EventOutline
  /** Number of a type by kind, source, tool and flags; nested, because joining them for each row is slower than all else. */
  readonly #types: Map<string, Map<string | null, Map<string | null, Map<number, number>>>> = new Map()
  readonly #clock = new Clock()
  #at = 0

  constructor(newest: number) {
    this.outline = {
      first_seq: 0,
      last_seq: 0,
      newest_seq: newest,
      started_at: 0,
      types: [],
      type: [],
      parent: [],
      refers: [],
      at: [],
      size: [],
    }
  }

  add([seq, kind, source, tool, parentSeq, refersSeq, flags, size, timestamp]: OutlineRow): void {
    const { outline } = this
    const at = this.#clock.read(timestamp) ?? this.#at
    if (outline.first_seq === 0) {
      outline.first_seq = seq
      outline.started_at = at
      this.#at = at
    }
    outline.last_seq = seq
    outline.type.push(this.#typeOf(kind, source, tool, flags ?? 0))
    outline.parent.push(parentSeq === null ? 0 : seq - parentSeq)
    outline.refers.push(refersSeq === null ? 0 : seq - refersSeq)
    outline.at.push(at - this.#at)
    outline.size.push(Math.ceil((size ?? 0) / SIZE_UNIT))
    this.#at = at
  }

  #typeOf(kind: string, source: string | null, tool: string | null, flags: number): number {
    const byFlags = child(child(child(this.#types, kind), source), tool)
    const known = byFlags.get(flags)
    if (known !== undefined) return known
    const { types } = this.outline
    byFlags.set(flags, types.length)
    return types.push(typeFrom(kind, source, tool, flags)) - 1
  }
}

function typeFrom(kind: string, source: string | null, tool: string | null, flags: number): OutlineType {
  const risk = riskIn(flags)
  const decision = decisionIn(flags)
  return {
    kind,
    source,
    ...(tool !== null && { tool }),
    ...(risk !== undefined && { risk }),
    ...((flags & FAILED) > 0 && { error: true }),
    ...((flags & HAS_IMAGES) > 0 && { images: true }),
    ...(decision !== undefined && { decision }),
  }
}

function child<Key, InnerKey, Value>(map: Map<Key, Map<InnerKey, Value>>, key: Key): Map<InnerKey, Value> {
  const known = map.get(key)
  if (known !== undefined) return known
  const inner = new Map<InnerKey, Value>()
  map.set(key, inner)
  return inner
}

/** Length of a date and an hour in an ISO timestamp. */
const HOUR_END = 13
const DIGIT_0 = 48

/** Reads ISO timestamps in UTC; those of one log mostly share their hour, which is parsed once. */
class Clock {
  #hour = ''
  #start = 0

  /** Milliseconds since 1970; null for a text that is no time. */
  read(timestamp: string): number | null {
    if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3}/.test(timestamp)) return parsed(timestamp)
    const hour = timestamp.slice(0, HOUR_END)
    if (hour !== this.#hour) {
      const start = Date.parse(`${hour.replace(' ', 'T')}:00:00Z`)
      if (Number.isNaN(start)) return null
      this.#hour = hour
      this.#start = start
    }
    const digit = (at: number) => timestamp.charCodeAt(at) - DIGIT_0
    const minutes = digit(14) * 10 + digit(15)
    const seconds = digit(17) * 10 + digit(18)
    return this.#start + minutes * 60_000 + seconds * 1000 + digit(20) * 100 + digit(21) * 10 + digit(22)
  }
}

function parsed(timestamp: string): number | null {
  const at = Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(timestamp) ? timestamp : `${timestamp}Z`)
  return Number.isNaN(at) ? null : at
}
