/** The heading of one changed file, which opens its lines. */
import { classNames } from '../../ui/class-names.ts'
import { ChevronRight } from '../../ui/icons.ts'
import { changes as words } from '../../words/changes.en.ts'
import { Counts } from './counts.tsx'
import type { FileChange } from './data.ts'

type Props = {
  readonly file: FileChange
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly isViewed: boolean
  readonly onViewed: () => void
}

export function FileHeading({ file, isOpen, onToggle, isViewed, onViewed }: Props) {
  const { path, oldPath, status, additions, deletions } = file
  const cut = path.lastIndexOf('/') + 1
  return (
    <div className={classNames('changes-file', isViewed && 'viewed')}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        title={oldPath === null ? path : words.movedFrom(oldPath)}
      >
        <ChevronRight size={14} aria-hidden />
        <span className="hidden-text">{path}</span>
        <span className="changes-path" aria-hidden>
          <span className="folder">
            <bdi>{path.slice(0, cut)}</bdi>
          </span>
          <bdi className="name">{path.slice(cut)}</bdi>
        </span>
        {status !== 'UPDATED' && <span className={`changes-status ${status}`}>{words.status[status] ?? status}</span>}
        <Counts added={additions ?? 0} removed={deletions ?? 0} />
      </button>
      <label className="changes-viewed">
        <input type="checkbox" checked={isViewed} aria-label={words.viewedFile(path)} onChange={onViewed} />
        <span aria-hidden>{words.viewed}</span>
      </label>
    </div>
  )
}
