/** What the changes are compared with, and how they are shown. */
import { Button } from '../../ui/button.tsx'
import { ChevronsUpDown } from '../../ui/icons.ts'
import { changes as words } from '../../words/changes.en.ts'
import { handOff } from '../../words/hand-off.en.ts'
import { Counts } from './counts.tsx'
import type { Comparison, FileChange } from './data.ts'

type Props = {
  readonly files: readonly FileChange[]
  readonly viewed: number
  readonly comparison: Comparison
  readonly onCompare: (comparison: Comparison) => void
  /** Null: this person may not write. */
  readonly onHandOff: (() => void) | null
  readonly isSplit: boolean
  readonly onSplit: (isSplit: boolean) => void
  readonly isAllOpen: boolean
  readonly onOpenAll: (all: boolean) => void
}

export function ChangesBar(props: Props) {
  const { files, viewed, comparison, onCompare, onHandOff, isSplit, onSplit, isAllOpen, onOpenAll } = props
  const sum = (member: 'additions' | 'deletions') => files.reduce((total, file) => total + (file[member] ?? 0), 0)
  return (
    <div className="changes-bar">
      <p className="changes-total">
        <span>{words.files(files.length)}</span>
        <Counts added={sum('additions')} removed={sum('deletions')} />
        {viewed > 0 && <span className="changes-viewed-count">{words.viewedOf(viewed, files.length)}</span>}
      </p>
      <div className="changes-controls">
        <select
          aria-label={words.compare}
          title={words.compare}
          value={comparison}
          onChange={(event) => onCompare(event.target.value as Comparison)}
        >
          {(['branch', 'uncommitted'] as const).map((each) => (
            <option key={each} value={each}>
              {words.comparisons[each]}
            </option>
          ))}
        </select>
        <select
          aria-label={words.view}
          title={words.view}
          value={isSplit ? 'split' : 'unified'}
          onChange={(event) => onSplit(event.target.value === 'split')}
        >
          <option value="unified">{words.unified}</option>
          <option value="split">{words.split}</option>
        </select>
        <Button
          look="quiet"
          size="small"
          label={isAllOpen ? words.closeAll : words.openAll}
          disabled={files.length === 0}
          onClick={() => onOpenAll(!isAllOpen)}
        >
          <ChevronsUpDown size={16} aria-hidden />
        </Button>
        {onHandOff !== null && files.length > 0 && (
          <Button size="small" onClick={onHandOff}>
            {handOff.open}
          </Button>
        )}
      </div>
    </div>
  )
}
