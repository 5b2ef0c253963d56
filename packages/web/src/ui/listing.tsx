/** One component for the states of all lists: loading, error, empty, content. Existing content is never replaced by a state. */
import { type ReactNode, useEffect, useState } from 'react'
import { messageOf, ServerError } from '../api/errors.ts'
import { en } from '../words/en.ts'
import { Button } from './button.tsx'
import './listing.css'

/** Milliseconds after which loading is shown: a fast answer flashes nothing. */
const LATE_MS = 150

export type ListingProps<T> = {
  /** Undefined: nothing has been loaded yet. */
  readonly items: readonly T[] | undefined
  readonly error: unknown
  readonly onRetry: () => void
  /** Shown for an empty list. */
  readonly empty: ReactNode
  /** Number of rows that stand for those that load. */
  readonly skeletons?: number
  readonly children: (items: readonly T[]) => ReactNode
}

export function Listing<T>({ items, error, onRetry, empty, skeletons = 6, children }: ListingProps<T>) {
  if (items === undefined && error != null) return <Failure error={error} onRetry={onRetry} />
  if (items === undefined) return <Loading count={skeletons} />
  return <>{items.length === 0 ? empty : children(items)}</>
}

/** What failed, in words, and a way to try again. For a session that has ended, the page asks for a key instead. */
export function Failure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error instanceof ServerError && error.status === 401) return null
  return (
    <div className="failure" role="alert">
      <p>{messageOf(error)}</p>
      <Button size="small" onClick={onRetry}>
        {en.tryAgain}
      </Button>
    </div>
  )
}

/** Rows that stand for content that loads; shown when it does not come at once. */
export function Loading({ count = 6 }: { count?: number }) {
  const isLate = useLate()
  if (!isLate) return <div aria-busy="true" />
  return (
    <div className="skeletons" aria-busy="true">
      <span className="hidden-text">{en.loading}</span>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  )
}

/** True a moment after the component appeared. */
export function useLate(): boolean {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE_MS)
    return () => clearTimeout(timer)
  }, [])
  return isLate
}
