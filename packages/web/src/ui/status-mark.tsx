/** The status of a conversation as a small shape. The shape differs, not only the colour, and the word is there for screen readers. */
import type { Shown } from '../lib/conversations.ts'
import { en } from '../words/en.ts'
import { classNames } from './class-names.ts'
import './status-mark.css'

const SHAPES: Readonly<Record<Shown, 'disc' | 'diamond' | 'triangle' | 'bars' | 'ring' | 'tick' | 'dash'>> = {
  running: 'disc',
  starting: 'ring',
  waiting: 'diamond',
  failed: 'triangle',
  start_failed: 'triangle',
  paused: 'bars',
  finished: 'tick',
  stopped: 'dash',
  idle: 'ring',
}

export function StatusMark({ status, isSilent = false }: { status: Shown; isSilent?: boolean }) {
  return (
    <span className={classNames('status-mark', `status-${status}`)} title={en.status[status]}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden>
        {shape(SHAPES[status])}
      </svg>
      {!isSilent && <span className="hidden-text">{en.status[status]}</span>}
    </span>
  )
}

function shape(name: (typeof SHAPES)[Shown]) {
  switch (name) {
    case 'disc':
      return <circle cx="5" cy="5" r="4" fill="currentColor" />
    case 'ring':
      return <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
    case 'diamond':
      return <path d="M5 0 10 5 5 10 0 5Z" fill="currentColor" />
    case 'triangle':
      return <path d="M5 .5 10 9.5H0Z" fill="currentColor" />
    case 'bars':
      return <path d="M2 1.5h2v7H2zM6 1.5h2v7H6z" fill="currentColor" />
    case 'tick':
      return (
        <path d="m1.5 5.2 2.4 2.4 4.6-5" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
      )
    case 'dash':
      return <path d="M1.5 5h7" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
  }
}
