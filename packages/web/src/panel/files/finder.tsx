/** Opens a file by a part of its name. */
import type { FoundFiles } from '@parley/protocol'
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useState } from 'react'
import { get } from '../../api/queries.ts'
import { useView } from '../../timeline/context.ts'
import { Search } from '../../ui/icons.ts'
import { files as words } from '../../words/files.en.ts'
import { Name } from './name.tsx'
import { above, nameOf } from './path.ts'

/** Milliseconds after a key until the server is asked. */
const PAUSE_MS = 150
const LIMIT = 20

export function Finder({ id, onOpen }: { id: string; onOpen: (path: string) => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const found = useFound(id, text.trim())
  const list = useId()
  const paths = found?.paths ?? []
  const isOpen = text.trim() !== '' && found !== undefined
  const close = () => {
    setText('')
    setActive(0)
  }
  const choose = (path: string | undefined) => {
    if (path === undefined) return
    close()
    onOpen(path)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') choose(paths[active])
    else if (event.key === 'Escape' && text !== '') {
      event.stopPropagation()
      close()
    } else if (event.key === 'ArrowDown') setActive(Math.min(active + 1, paths.length - 1))
    else if (event.key === 'ArrowUp') setActive(Math.max(active - 1, 0))
    else return
    event.preventDefault()
  }
  return (
    <div className="files-finder">
      <Search size={14} aria-hidden />
      <input
        type="text"
        role="combobox"
        aria-label={words.find}
        aria-expanded={isOpen}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && paths[active] !== undefined ? `${list}-${active}` : undefined}
        placeholder={words.find}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setActive(0)
        }}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <div className="files-found">
          <ul id={list} role="listbox" aria-label={words.found}>
            {paths.map((path, index) => (
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- The field has the keys.
              <li
                key={path}
                id={`${list}-${index}`}
                role="option"
                aria-selected={index === active}
                tabIndex={-1}
                onClick={() => choose(path)}
              >
                <Name text={nameOf(path)} /> <small>{above(path)}</small>
              </li>
            ))}
          </ul>
          {paths.length === 0 && (
            <p className="note" role="status">
              {words.noMatch(text.trim())}
            </p>
          )}
          {paths.length > 0 && !found.is_complete && <p className="note">{words.manyMatches}</p>}
        </div>
      )}
    </div>
  )
}

/** The files that the server finds a moment after the last key. */
function useFound(id: string, text: string): FoundFiles | undefined {
  const { conversation } = useView()
  const [query, setQuery] = useState('')
  const wanted = useDeferredValue(text)
  useEffect(() => {
    const timer = setTimeout(() => setQuery(wanted), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [wanted])
  const { data } = useQuery({
    queryKey: ['files', id, 'search', query],
    queryFn: ({ signal }) => get<FoundFiles>(conversation.path('/files/search'), signal, { q: query, limit: LIMIT }),
    enabled: query !== '',
    placeholderData: (before) => before,
  })
  return query === '' ? undefined : data
}
