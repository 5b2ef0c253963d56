/** The entries of a directory, with arrow keys between them. */
import type { FolderEntry } from '@parley/protocol'
import { useQuery } from '@tanstack/react-query'
import type { KeyboardEvent } from 'react'
import { get } from '../../api/queries.ts'
import { useView } from '../../timeline/context.ts'
import { FileText, FileX, Folder } from '../../ui/icons.ts'
import { Listing } from '../../ui/listing.tsx'
import { files as words } from '../../words/files.en.ts'
import { Name } from './name.tsx'
import { above, joined, type Place } from './path.ts'

type Answer = { entries: FolderEntry[]; has_more: boolean }

export function Directory({ id, path, onOpen }: { id: string; path: string; onOpen: (place: Place) => void }) {
  const { conversation } = useView()
  const { data, error, refetch } = useQuery({
    queryKey: ['files', id, 'list', path],
    queryFn: ({ signal }) => get<Answer>(conversation.path('/files'), signal, { path }),
  })
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.key === 'Backspace' || event.key === 'ArrowLeft') {
      if (path === '') return
      event.preventDefault()
      return onOpen({ path: above(path), isDirectory: true })
    }
    moveFocus(event)
  }
  return (
    <Listing
      items={data?.entries}
      error={error}
      onRetry={() => void refetch()}
      empty={
        <div className="panel-empty">
          <p>{path === '' ? words.emptyRoot : words.empty}</p>
        </div>
      }
    >
      {(entries) => (
        <>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- The keys move between the buttons inside. */}
          <ul className="files-list" aria-label={words.list(path)} onKeyDown={onKeyDown}>
            {entries.map((entry) => (
              <Entry
                key={entry.name}
                entry={entry}
                onOpen={() => onOpen({ path: joined(path, entry.name), isDirectory: entry.kind === 'directory' })}
              />
            ))}
          </ul>
          {data?.has_more === true && <p className="note files-note">{words.hasMore}</p>}
        </>
      )}
    </Listing>
  )
}

const ICONS = { directory: Folder, file: FileText, other: FileX }

function Entry({ entry: { name, kind, is_link }, onOpen }: { entry: FolderEntry; onOpen: () => void }) {
  const Icon = ICONS[kind]
  return (
    <li>
      <button
        type="button"
        disabled={kind === 'other'}
        title={kind === 'other' ? words.kind.other : undefined}
        onClick={onOpen}
      >
        <Icon size={16} aria-hidden />
        <span className="hidden-text">{words.kind[kind]} </span>
        <span className="files-name">
          <Name text={name} />
        </span>
        {is_link === true && <span className="files-mark">{words.link}</span>}
      </button>
    </li>
  )
}

/** Moves between the buttons of a list by the arrow keys, Home and End. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLButtonElement>('button:not(:disabled)')]
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
  if (next === undefined || buttons[next] === undefined) return
  event.preventDefault()
  buttons[next].focus()
}
