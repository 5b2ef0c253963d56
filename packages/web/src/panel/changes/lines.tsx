/** Lines of a patch, in one column or in two. */
import { classNames } from '../../ui/class-names.ts'
import { changes as words } from '../../words/changes.en.ts'
import type { Pair, PatchLine } from './patch.ts'

const SIGNS = { same: ' ', added: '+', removed: '−', gap: '' } as const

type Shared = {
  readonly isMarked: (line: PatchLine) => boolean
  /** Null: this person may not write. */
  readonly onComment: ((line: PatchLine, isWider: boolean) => void) | null
}

export function LineRow({ line, isMarked, onComment }: Shared & { line: PatchLine }) {
  if (line.kind === 'gap') return <Gap line={line} />
  return (
    <div className={classNames('changes-line', line.kind, isMarked(line) && 'marked')}>
      <span className="number" aria-hidden>
        {line.before ?? ''}
      </span>
      <Number line={line} number={line.after} onComment={onComment} />
      <Text line={line} />
    </div>
  )
}

export function PairRow({ pair: { left, right }, isMarked, onComment }: Shared & { pair: Pair }) {
  if (left?.kind === 'gap') return <Gap line={left} />
  const side = (line: PatchLine | null, member: 'before' | 'after') =>
    line === null ? (
      <div className="changes-half none" />
    ) : (
      <div className={classNames('changes-half', line.kind, isMarked(line) && 'marked')}>
        <Number line={line} number={line[member]} onComment={onComment} />
        <Text line={line} />
      </div>
    )
  return (
    <div className="changes-pair">
      {side(left, 'before')}
      {side(right, 'after')}
    </div>
  )
}

/** The number of a line, which begins a comment. */
function Number({
  line,
  number,
  onComment,
}: {
  line: PatchLine
  number: number | null
  onComment: Shared['onComment']
}) {
  if (onComment === null) return <span className="number">{number ?? ''}</span>
  return (
    <button
      type="button"
      className="number"
      tabIndex={-1}
      aria-label={words.comment(line.after ?? line.before ?? 0)}
      onClick={(event) => onComment(line, event.shiftKey)}
    >
      <span>{number ?? ''}</span>
    </button>
  )
}

function Text({ line }: { line: PatchLine }) {
  return (
    <>
      <span className="sign" aria-hidden>
        {SIGNS[line.kind]}
      </span>
      {line.kind === 'added' || line.kind === 'removed' ? (
        <span className="hidden-text">{words.sign[line.kind]}</span>
      ) : null}
      <code>{line.text === '' ? '\u200b' : line.text}</code>
    </>
  )
}

function Gap({ line }: { line: PatchLine }) {
  return (
    <div className="changes-gap">
      {line.count > 0 && <span>{words.gap(line.count)}</span>}
      {line.text !== '' && <code>{line.text}</code>}
    </div>
  )
}
