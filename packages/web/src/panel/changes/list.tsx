/** The changed files and the lines of those that are open, as one virtual list. */
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useMemo, useRef, useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { useView } from '../../timeline/context.ts'
import { useKeysOff } from '../../ui/keys.ts'
import { changes as words } from '../../words/changes.en.ts'
import { CommentForm } from './comment.tsx'
import { type FileChange, usePatches } from './data.ts'
import { FileHeading } from './file-heading.tsx'
import { isIn, type Item, itemsOf, nextOf, quotedOf, type Range, rangeOf, widened } from './items.ts'
import { LineRow, PairRow } from './lines.tsx'
import type { PatchLine } from './patch.ts'
import { PatchState } from './patch-state.tsx'

/** Heights of rows before they are measured, in pixels. */
const HEIGHTS = { file: 41, line: 20, pair: 20, state: 52, failure: 60, comment: 180 } as const
const OVERSCAN = 30

type Props = {
  readonly files: readonly FileChange[]
  readonly open: ReadonlySet<string>
  readonly onOpen: (open: ReadonlySet<string>) => void
  readonly isSplit: boolean
  readonly isViewed: (file: FileChange) => boolean
  readonly onViewed: (file: FileChange) => void
}

export function ChangeList({ files, open, onOpen, isSplit, isViewed, onViewed }: Props) {
  const { canAct } = useView()
  const [range, setRange] = useState<Range | null>(null)
  const scroller = useRef<HTMLDivElement>(null)
  const shownFiles = files.filter(({ path }) => open.has(path))
  const patches = usePatches(shownFiles)
  const opened = new Map(shownFiles.map(({ path }, at) => [path, patches[at]!]))
  const stamp = [...opened].map(([path, { dataUpdatedAt, errorUpdatedAt }]) => [path, dataUpdatedAt, errorUpdatedAt])
  const items = useMemo(
    () => itemsOf(files, opened, { isSplit, range }),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `stamp` stands for `opened`.
    [files, JSON.stringify(stamp), isSplit, range],
  )
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => HEIGHTS[items[index]?.type ?? 'line'],
    getItemKey: (index) => items[index]?.key ?? index,
    overscan: OVERSCAN,
  })
  const toggle = ({ path }: FileChange): void => {
    const next = new Set(open)
    if (!next.delete(path)) next.add(path)
    onOpen(next)
  }
  const focusAt = (index: number): void => {
    if (index < 0) return
    virtualizer.scrollToIndex(index, { align: items[index]?.type === 'file' ? 'start' : 'center' })
    // The row is in the page after the list has scrolled.
    requestAnimationFrame(() => requestAnimationFrame(() => focusRow(scroller.current, index)))
  }
  const onKeyDown = useListKeys({ items, focusAt, onViewed })
  const comment = (file: FileChange, line: PatchLine, isWider: boolean): void => {
    const next = rangeOf(file.path, line)
    if (next !== null) setRange(isWider ? widened(range, next) : next)
  }
  const endComment = (): void => setRange(null)
  const contentOf = (item: Item) => {
    switch (item.type) {
      case 'file':
        return (
          <FileHeading
            file={item.file}
            isOpen={open.has(item.file.path)}
            onToggle={() => toggle(item.file)}
            isViewed={isViewed(item.file)}
            onViewed={() => onViewed(item.file)}
          />
        )
      case 'line':
      case 'pair': {
        const shared = {
          isMarked: (line: PatchLine) => isIn(range, item.file.path, line),
          onComment: canAct ? (line: PatchLine, isWider: boolean) => comment(item.file, line, isWider) : null,
        }
        return item.type === 'line' ? (
          <LineRow line={item.line} {...shared} />
        ) : (
          <PairRow pair={item.pair} {...shared} />
        )
      }
      case 'state':
        return <PatchState file={item.file} patch={item.patch} />
      case 'failure':
        return <p className="changes-state problem">{messageOf(item.error)}</p>
      case 'comment':
        return <CommentForm range={item.range} quoted={quotedOf(items, item.range)} onEnd={endComment} />
    }
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- The keys are those of the buttons in it.
    <div
      ref={scroller}
      className="changes-list"
      role="region"
      aria-label={words.list}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A region that scrolls is reached with the keyboard.
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div className="changes-size" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ key, index, start }) => {
          const item = items[index]
          if (item === undefined) return null
          return (
            <div
              key={key}
              ref={virtualizer.measureElement}
              data-index={index}
              className={`changes-row ${item.type}`}
              style={{ transform: `translateY(${start}px)` }}
            >
              {contentOf(item)}
            </div>
          )
        })}
      </div>
    </div>
  )
}

const focusRow = (list: HTMLElement | null, index: number): void =>
  list?.querySelector<HTMLElement>(`[data-index="${index}"] button`)?.focus({ preventScroll: true })

/** Keys inside of the list; Enter and Space are those of its buttons. */
function useListKeys({
  items,
  focusAt,
  onViewed,
}: {
  items: readonly Item[]
  focusAt: (index: number) => void
  onViewed: (file: FileChange) => void
}): (event: KeyboardEvent<HTMLElement>) => void {
  const [isOff] = useKeysOff()
  return (event) => {
    const { target } = event
    if (!(target instanceof HTMLElement) || target.closest('textarea, input, select') !== null) return
    if (event.ctrlKey || event.metaKey || event.altKey || (isOff && event.key.length === 1)) return
    const row = target.closest<HTMLElement>('[data-index]')
    const at = row === null ? -1 : Number(row.dataset['index'])
    const places: Readonly<Record<string, () => number>> = {
      j: () => nextOf(items, at, 1, 'file'),
      k: () => nextOf(items, at, -1, 'file'),
      n: () => nextOf(items, at, 1, 'hunk'),
      p: () => nextOf(items, at, -1, 'hunk'),
      ArrowDown: () => (row === null ? -1 : Math.min(items.length - 1, at + 1)),
      ArrowUp: () => at - 1,
    }
    const file = items[at]?.file
    if (event.key === 'v' && file !== undefined) onViewed(file)
    else if (event.key in places && !(event.key.startsWith('Arrow') && row === null)) focusAt(places[event.key]!())
    else return
    event.preventDefault()
  }
}
