/** The search in the address of the page, as `?find=text`; a step back returns to the place from which the first hit was opened. */
import { useLocation, useSearch } from 'wouter'
import type { RowStates } from '../row-states.ts'
import type { Place } from '../scroll.ts'

/** Clamped to the end of the log. */
const END: Place = { key: '', seq: Number.MAX_SAFE_INTEGER, offset: Number.MAX_SAFE_INTEGER }

export type Search = {
  /** Null while the search is closed. */
  readonly text: string | null
  readonly change: (text: string | null) => void
  /** Shows a hit. The first one is a step in the history. */
  readonly show: (text: string, seq: number, rows: RowStates) => void
}

export function useSearchText(): Search {
  const [path, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  return {
    text: search.get('find'),
    change(text) {
      if (text === null) search.delete('find')
      else search.set('find', text)
      // The place stays in the entry of the history.
      navigate(search.size === 0 ? path : `${path}?${search.toString()}`, { replace: true, state: history.state })
    },
    show(text, seq, rows) {
      const isFirst = !isHit(history.state)
      if (isFirst) {
        // Without the search, which a step back closes.
        const without = new URLSearchParams(search)
        without.delete('find')
        const address = without.size === 0 ? path : `${path}?${without.toString()}`
        navigate(address, { replace: true, state: { place: rows.place() ?? END } })
      }
      search.set('find', text)
      search.set('at', String(seq))
      const address = `${path}?${search.toString()}`
      navigate(address, { replace: !isFirst, state: { isHit: true } })
      rows.goTo(seq)
    },
  }
}

const isHit = (state: unknown) => (state as { isHit?: boolean } | null)?.isHit === true
