/** A difference as lines with numbers. */
import { memo, useState } from 'react'
import { conversation as words } from '../words/conversation.en.ts'
import type { Difference, DiffLine } from './diff-lines.ts'
import './diff.css'

/** Lines that are shown first, and for each further request. */
const FIRST = 120
const SIGNS = { same: ' ', added: '+', removed: '-', gap: '' } as const

export const Diff = memo(function Diff({
  difference,
  path,
  isWhole = false,
}: {
  difference: Difference
  path: string
  /** True: all lines at once, as in an approval. */
  isWhole?: boolean
}) {
  const [shown, setShown] = useState(FIRST)
  const lines = isWhole ? difference.lines : difference.lines.slice(0, shown)
  const rest = difference.lines.length - lines.length
  return (
    <div className="diff">
      <pre tabIndex={0} role="region" aria-label={words.changesOf(path)}>
        {lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </pre>
      {rest > 0 ? (
        <button type="button" className="text-button" onClick={() => setShown(shown + FIRST * 4)}>
          {words.laterLines(rest)}
        </button>
      ) : null}
    </div>
  )
})

const Line = memo(function Line({ line }: { line: DiffLine }) {
  if (line.kind === 'gap') return <span className="diff-line gap">{words.sameLines(line.count)}</span>
  return (
    <span className={`diff-line ${line.kind}`}>
      <span className="number" aria-hidden>
        {line.before ?? ''}
      </span>
      <span className="number" aria-hidden>
        {line.after ?? ''}
      </span>
      <span className="sign">{SIGNS[line.kind]}</span>
      <span className="code">{line.text === '' ? '\u200b' : line.text}</span>
    </span>
  )
})

/** The counts of a difference: `+3 −1`. */
export function Counts({ difference: { added, removed } }: { difference: Difference }) {
  return (
    <span className="counts">
      {added > 0 ? <span className="plus">+{added}</span> : null}
      {removed > 0 ? <span className="minus">−{removed}</span> : null}
    </span>
  )
}
