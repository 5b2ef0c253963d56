/** A JSON value as a tree that opens level by level. */
import { useState, type ReactNode } from 'react'
import { conversation as words } from '../../words/conversation.en.ts'

/** Members that are shown at once. */
const FIRST = 50
const MAX_DEPTH = 20

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  return (
    <div className="json" role="region" aria-label={label} tabIndex={0}>
      <Value value={value} depth={0} />
    </div>
  )
}

function Value({ value, depth }: { value: unknown; depth: number }): ReactNode {
  if (typeof value === 'string') return <span className="json-text">{value}</span>
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH)
    return <span className="json-atom">{String(value)}</span>
  return <Members entries={Object.entries(value)} isList={Array.isArray(value)} depth={depth} />
}

function Members({ entries, isList, depth }: { entries: [string, unknown][]; isList: boolean; depth: number }) {
  const [shown, setShown] = useState(FIRST)
  if (entries.length === 0) return <span className="json-atom">{isList ? words.emptyList : words.emptyObject}</span>
  return (
    <ul>
      {entries.slice(0, shown).map(([name, value]) => (
        <li key={name}>
          {isDeep(value) && depth > 1 ? (
            <details>
              <summary>{name}</summary>
              <Value value={value} depth={depth + 1} />
            </details>
          ) : (
            <>
              <span className="json-name">{name}</span> <Value value={value} depth={depth + 1} />
            </>
          )}
        </li>
      ))}
      {entries.length > shown ? (
        <li>
          <button type="button" className="text-button" onClick={() => setShown(shown + FIRST * 4)}>
            {words.moreMembers(entries.length - shown)}
          </button>
        </li>
      ) : null}
    </ul>
  )
}

const isDeep = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0
