/** Positions in the timeline. Pure, besides the places that are kept for the life of the tab. */
import { defaultRangeExtractor, type Range, type VirtualItem } from '@tanstack/react-virtual'
import type { Item } from './items.ts'

/** The first visible row: its key, its `seq`, and the pixels of it that are above the view. */
export type Place = { key: string; seq: number; offset: number }

const places = new Map<string, Place>()

/** Keeps the place of a conversation, or returns the one that was kept; null forgets it, because the end was in view. */
export function keepPlace(id: string, place?: Place | null): Place | undefined {
  if (place === null) places.delete(id)
  else if (place !== undefined) places.set(id, place)
  return places.get(id)
}

type Scrolled = {
  readonly scrollOffset: number | null
  isAtEnd(threshold?: number): boolean
  getVirtualItemForOffset(offset: number): VirtualItem | undefined
}

/** The place of a list; null at its end. */
export function placeOf(list: Scrolled, items: readonly Item[]): Place | null {
  const offset = list.scrollOffset ?? 0
  if (list.isAtEnd(80)) return null
  const first = list.getVirtualItemForOffset(offset)
  const item = first === undefined ? undefined : items[first.index]
  if (first === undefined || item === undefined) return null
  return { key: item.key, seq: seqOf(item), offset: offset - first.start }
}

const seqOf = (item: Item) => (item.type === 'row' ? item.row.seq : 0)

/** Index of the row with `key`, or of the last row that begins at `seq` or before; -1 without one. */
export function indexOfSeq(items: readonly Item[], seq: number, key = ''): number {
  const byKey = key === '' ? -1 : items.findIndex((item) => item.key === key)
  return byKey === -1 ? items.findLastIndex((item) => item.type === 'row' && item.row.seq <= seq) : byKey
}

/** The rows to mount: those around the view, and the one with the focus. */
export function visibleRange(range: Range, current: number): number[] {
  const indexes = defaultRangeExtractor(range)
  const [first, last] = [indexes[0] ?? 0, indexes.at(-1) ?? 0]
  if (current === -1 || current >= range.count || (current >= first && current <= last)) return indexes
  return current < first ? [current, ...indexes] : [...indexes, current]
}

/** The events of the mounted rows, those in the middle first. */
export function wantedSeqs(items: readonly Item[], shown: readonly VirtualItem[]): number[] {
  const middle = shown[Math.floor(shown.length / 2)]?.index ?? 0
  return shown
    .map(({ index }) => index)
    .sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
    .flatMap((index) => {
      const item = items[index]
      if (item?.type !== 'row') return []
      const { seq, answer, type } = item.row
      // The phases of a start are one row with many events.
      if (type === 'start') return Array.from({ length: Math.max(1, answer - seq + 1) }, (_, at) => seq + at)
      return answer === 0 ? [seq] : [seq, answer]
    })
}
