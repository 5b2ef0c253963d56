/** The files of a workspace: a directory at a time, a file beside its path, and a search by name. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { useSearchParam } from '../../lib/location.ts'
import { useView } from '../../timeline/context.ts'
import type { TabProps } from '../tabs.ts'
import { Directory } from './directory.tsx'
import { File } from './file.tsx'
import { Finder } from './finder.tsx'
import { placeIn, shownOf, type Place } from './path.ts'
import { Steps } from './steps.tsx'
import './files.css'

/** Milliseconds after an event of the log in which files are read again. */
const PAUSE_MS = 1_500

export function FilesTab({ id }: TabProps) {
  const [shown, show] = useSearchParam('file')
  const place = placeIn(shown)
  const open = (next: Place) => show(shownOf(next))
  useFresh(id)
  return (
    <div className="files">
      <Finder id={id} onOpen={(path) => open({ path, isDirectory: false })} />
      <Steps place={place} onOpen={open} />
      {place.isDirectory ? (
        <Directory key={place.path} id={id} path={place.path} onOpen={open} />
      ) : (
        <File key={place.path} id={id} path={place.path} />
      )}
    </div>
  )
}

/** Reads what is shown again after the agent has done something. */
function useFresh(id: string): void {
  const { log } = useView().conversation
  const client = useQueryClient()
  const last = useSyncExternalStore(log.subscribe, () => log.lastSeq)
  const seen = useRef(last)
  useEffect(() => {
    if (seen.current === last) return undefined
    const timer = setTimeout(() => {
      seen.current = last
      void client.invalidateQueries({ queryKey: ['files', id] })
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [client, id, last])
}
