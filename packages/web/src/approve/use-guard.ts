/** Buttons that ignore the first moments after they appear or move: a click that was meant for something else decides nothing. */
import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react'

/** Milliseconds. */
const GUARD_MS = 400

/**
 * Returns a function that says whether a press counts now. The time begins again when `what` changes, and when `element` or one of its
 * neighbours or an element around it changes its size and thereby moves the buttons.
 */
export function useGuard(element: RefObject<HTMLElement | null>, what: string): () => boolean {
  const movedAt = useRef(Number.POSITIVE_INFINITY)
  // Before anything can be pressed; an effect after the paint would leave a moment in which a press counts.
  useLayoutEffect(() => {
    movedAt.current = performance.now()
  }, [what])
  useEffect(() => {
    const dock = element.current?.parentElement
    if (dock == null) return undefined
    let place = placeOf(element.current)
    const observer = new ResizeObserver(() => {
      const now = placeOf(element.current)
      if (now !== place) movedAt.current = performance.now()
      place = now
    })
    for (let around: HTMLElement | null = dock; around !== null; around = around.parentElement) observer.observe(around)
    for (const child of dock.children) observer.observe(child)
    const moved = () => (movedAt.current = performance.now())
    addEventListener('resize', moved)
    return () => {
      observer.disconnect()
      removeEventListener('resize', moved)
    }
  }, [element])
  return () => performance.now() - movedAt.current >= GUARD_MS
}

function placeOf(element: HTMLElement | null): string {
  const rect = element?.getBoundingClientRect()
  return rect === undefined ? '' : `${rect.x},${rect.bottom}`
}
