/** Output of a command: its last lines, and more on demand. */
import { memo, useMemo, useState } from 'react'
import { conversation as words } from '../words/conversation.en.ts'
import { linesOf, runsOf } from './ansi-runs.ts'

/** Lines that are shown first, and for each further request. */
const FIRST = 40
const MORE = 400

export const AnsiOutput = memo(function AnsiOutput({
  text,
  label,
  first = FIRST,
  isWrapped = false,
}: {
  text: string
  label: string
  /** Lines that are shown before a person asks for more. */
  first?: number | undefined
  /** Long lines are wrapped instead of scrolled. */
  isWrapped?: boolean
}) {
  const lines = useMemo(() => linesOf(text), [text])
  const [shown, setShown] = useState(first)
  const hidden = Math.max(0, lines.length - shown)
  return (
    <div className={isWrapped ? 'output wrapped' : 'output'}>
      {hidden > 0 ? (
        <button type="button" className="text-button" onClick={() => setShown(shown + MORE)}>
          {words.earlierLines(hidden)}
        </button>
      ) : null}
      <pre tabIndex={0} role="region" aria-label={label}>
        {lines.slice(hidden).map((line, index) => (
          <Line key={hidden + index} text={line} />
        ))}
      </pre>
    </div>
  )
})

const Line = memo(function Line({ text }: { text: string }) {
  return (
    <span className="line">
      {runsOf(text).map((run, index) => (
        <span key={index} className={run.classes || undefined}>
          {run.text}
        </span>
      ))}
      {'\n'}
    </span>
  )
})
