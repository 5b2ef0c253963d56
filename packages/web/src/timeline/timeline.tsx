/** The log of a conversation as a virtual list. Scroll rules S1 to S6 are kept here and tested in test/web. */
import { type Range, useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from '../ui/icons.ts'
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { Button } from '../ui/button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useView } from './context.ts'
import { estimateOf, type Item, itemsOf } from './items.ts'
import { RowContent } from './row.tsx'
import { keepPlace, placeOf, visibleRange, wantedSeqs } from './scroll.ts'
import { usePlace } from './place.ts'
import { useTimelineKeys } from './timeline-keys.ts'
import './timeline.css'

const FindBar = lazy(async () => ({ default: (await import('./find/index.ts')).FindBar }))

/** Rows beyond the visible ones: more than one and a half screens, or corrections of heights would move what is read (S3). */
const OVERSCAN = 40
/** Pixels from the end within which growth keeps the end in view (S2). */
const END_PX = 80

/** @param at `seq` to open at; null: where the person was, or the end */
export function Timeline({ at }: { at: number | null }) {
  const { conversation, rows } = useView()
  const { log, id } = conversation
  const scroller = useRef<HTMLDivElement>(null)
  const items = useSyncExternalStore(
    log.subscribe,
    useMemo(() => itemsOf(log), [log]),
  )
  const current = useSyncExternalStore(rows.subscribe, rows.current)
  const currentIndex = useMemo(() => items.findIndex(({ key }) => key === current), [items, current])
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimateOf(items[index]),
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: OVERSCAN,
    paddingStart: 16,
    paddingEnd: 24,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: END_PX,
    // The row with the focus stays mounted.
    rangeExtractor: useCallback((range: Range) => visibleRange(range, currentIndex), [currentIndex]),
  })
  // By default, rows that are measured again while the person scrolls up are not corrected: their events arrive at that time (S3).
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = ({ index, start }, _delta, { scrollOffset }) =>
    start < (scrollOffset ?? 0) && index < items.length - 1
  const shown = virtualizer.getVirtualItems()
  const isAtEnd = useIsAtEnd(scroller, items, () => virtualizer.scrollToEnd())

  usePlace(virtualizer, items, { at, scroller })
  // While it is mounted: the list has no position any more when it leaves the page.
  useEffect(() => void keepPlace(id, placeOf(virtualizer, items)))
  useEffect(() => conversation.bodies.want(wantedSeqs(items, shown)))
  useTimelineKeys(virtualizer, items)
  useOwnMessages(items, () => virtualizer.scrollToEnd())

  return (
    <div className="timeline">
      <Suspense>
        <FindBar />
      </Suspense>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
      <div ref={scroller} className="timeline-scroll" role="feed" aria-label={words.timeline} tabIndex={0}>
        <div className="timeline-size" style={{ height: virtualizer.getTotalSize() }}>
          {shown.map(({ key, index, start }) => {
            const item = items[index]
            if (item === undefined) return null
            return (
              <article
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                data-key={item.key}
                data-seq={item.type === 'row' ? item.row.seq : undefined}
                className={item.key === current ? 'row current' : 'row'}
                style={{ transform: `translateY(${start}px)` }}
                tabIndex={-1}
                aria-posinset={index + 1}
                aria-setsize={items.length}
                onFocus={() => rows.setCurrent(item.key)}
              >
                <RowContent item={item} />
              </article>
            )
          })}
        </div>
      </div>
      {isAtEnd.value ? null : (
        <Button size="small" className="to-end" onClick={() => virtualizer.scrollToEnd()}>
          <ArrowDown size={14} aria-hidden />
          {isAtEnd.missed === 0 ? words.toEnd : words.newRows(isAtEnd.missed)}
        </Button>
      )}
    </div>
  )
}

/** Whether the end is in view, and how many rows were added since it was left. */
function useIsAtEnd(scroller: { current: HTMLElement | null }, items: readonly Item[], scrollToEnd: () => void) {
  const isAtEnd = useRef(true)
  const toEnd = useRef(scrollToEnd)
  useEffect(() => {
    toEnd.current = scrollToEnd
  })
  const [value, setValue] = useState(true)
  const [left, setLeft] = useState(0)
  useEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    const check = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight <= END_PX
      setValue(isAtEnd.current)
    }
    check()
    element.addEventListener('scroll', check, { passive: true })
    // A view that becomes smaller, because a card appeared below it, keeps its end.
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) toEnd.current()
      check()
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', check)
    }
  }, [scroller])
  useEffect(() => {
    if (value) setLeft(items.length)
  }, [value, items.length])
  return { value, missed: value ? 0 : Math.max(0, items.length - left) }
}

/** A message of this page is always brought into view. */
function useOwnMessages(items: readonly Item[], toEnd: () => void): void {
  const pending = items.filter(({ type }) => type === 'pending').at(-1)?.key
  const known = useRef(pending)
  useEffect(() => {
    if (pending !== undefined && pending !== known.current) toEnd()
    known.current = pending
  })
}
