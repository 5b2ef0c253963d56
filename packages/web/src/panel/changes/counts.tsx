/** Added and removed lines: `+3 −1`. */
import { changes as words } from '../../words/changes.en.ts'

export function Counts({ added, removed }: { added: number; removed: number }) {
  if (added + removed === 0) return null
  return (
    <span className="changes-counts" role="img" aria-label={words.counts(added, removed)}>
      {added > 0 && <span className="plus">+{added}</span>}
      {removed > 0 && <span className="minus">−{removed}</span>}
    </span>
  )
}
