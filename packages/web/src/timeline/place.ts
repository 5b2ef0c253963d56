/** Brings a place of the timeline into view, and keeps it there until the rows around it are loaded and measured. */
import type { Virtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from 'react'
import { useView } from './context.ts'
import type { Item } from './items.ts'
import { indexOfSeq, keepPlace, type Place, placeOf, wantedSeqs } from './scroll.ts'

type List = Virtualizer<HTMLDivElement, Element>

/** A person who does one of these, anywhere in the page, may go somewhere else. */
const LEAVES = ['wheel', 'touchstart', 'pointerdown', 'keydown']

/** Opens at `at`, at the place that was kept for this tab, or at the end (S4), and goes where `rows.goTo` and the history say. */
export function usePlace(
  list: List,
  items: readonly Item[],
  { at, scroller }: { at: number | null; scroller: { current: HTMLElement | null } },
): void {
  const { conversation, rows } = useView()
  const target = useRef<Place | 'unknown' | null>('unknown')
  const [, again] = useReducer((count: number) => count + 1, 0)
  useLayoutEffect(() => {
    if (target.current === null || items.length === 0) return
    if (target.current === 'unknown') {
      const kept = at === null ? keepPlace(conversation.id) : { key: '', offset: 0, seq: at }
      target.current = kept !== undefined && indexOfSeq(items, kept.seq, kept.key) !== -1 ? kept : null
      if (target.current === null) return list.scrollToEnd()
    }
    const { seq, key, offset } = target.current
    const [start] = list.getOffsetForIndex(indexOfSeq(items, seq, key), 'start') ?? [0]
    const top = scroller.current?.scrollTop ?? 0
    const wanted = Math.min(Math.max(0, start + offset), list.getTotalSize() - (scroller.current?.clientHeight ?? 0))
    if (Math.abs(top - wanted) > 1) return list.scrollToOffset(wanted)
    const shown = list.getVirtualItems()
    const isMeasured = shown.length > 0 && shown.every(({ key: each }) => list.itemSizeCache.has(each))
    const isLoaded = wantedSeqs(items, shown).every((each) => conversation.log.event(each) !== undefined)
    if (isMeasured && isLoaded) target.current = null
  })
  const goTo = useCallback((place: Place) => {
    target.current = place
    again()
  }, [])
  useEffect(() => {
    rows.goTo = (seq) => goTo({ key: '', seq, offset: -(scroller.current?.clientHeight ?? 0) / 3 })
    rows.place = () => placeOf(list, items)
  })
  useEffect(() => {
    const leave = () => (target.current = null)
    // A step back returns to the place from which a hit was opened.
    const onStep = ({ state }: PopStateEvent) => {
      const place = (state as { place?: Place } | null)?.place
      if (place !== undefined) goTo(place)
    }
    // Before the handlers of the page, which may call `goTo`.
    for (const type of LEAVES) addEventListener(type, leave, { capture: true, passive: true })
    addEventListener('popstate', onStep)
    return () => {
      for (const type of LEAVES) removeEventListener(type, leave, { capture: true })
      removeEventListener('popstate', onStep)
    }
  }, [goTo])
}
