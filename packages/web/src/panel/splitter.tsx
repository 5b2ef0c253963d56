/** The line between the timeline and the panel, which a pointer or the arrow keys move. */
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { panel as words } from '../words/panel.en.ts'

const STORED = 'parley.panel-width'
/** Widths in CSS pixels. */
const FIRST = 560
const MIN = 320
const MAX = 1600
/** Width that remains for the timeline. */
const REST = 360
const STEP = 24

/** The width of the panel, kept by the browser, and the function that changes it. */
export function usePanelWidth(): [width: number, change: (width: number) => void] {
  const [width, setWidth] = useState(storedWidth)
  return [
    width,
    (wanted) => {
      const next = Math.round(Math.min(MAX, Math.max(MIN, wanted)))
      setWidth(next)
      try {
        localStorage.setItem(STORED, String(next))
      } catch {
        // A browser may refuse to store; the width then lasts as long as the panel.
      }
    },
  ]
}

export function Splitter({ width, onChange }: { width: number; onChange: (width: number) => void }) {
  /** Sum of the pointer's place and the width while the line is dragged. */
  const grip = useRef(0)
  const onPointerMove = (event: PointerEvent<HTMLDivElement>): void => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
    const room = event.currentTarget.parentElement!.clientWidth - REST
    onChange(Math.min(grip.current - event.clientX, room))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: MIN, End: MAX }[event.key]
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const room = event.currentTarget.parentElement!.clientWidth - REST
    onChange(Math.min(next, room))
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- A separator that can be focused is a control.
    <div
      className="panel-splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={words.resize}
      aria-controls="panel"
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={width}
      aria-valuetext={words.widthOf(width)}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        grip.current = event.clientX + width
        event.preventDefault()
      }}
      onPointerMove={onPointerMove}
      onDoubleClick={() => onChange(FIRST)}
      onKeyDown={onKeyDown}
    />
  )
}

function storedWidth(): number {
  try {
    const stored = Number(localStorage.getItem(STORED))
    return stored >= MIN && stored <= MAX ? stored : FIRST
  } catch {
    return FIRST
  }
}
