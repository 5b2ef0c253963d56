/** What the files of the workspace differ in from what was committed. */
import { useQuery } from '@tanstack/react-query'
import { server } from '../../api/server.ts'
import { listOf, membersOf, textOf } from '../../log/read.ts'
import { directoryOf } from '../../log/state.ts'
import { useConversationState } from '../../timeline/context.ts'
import { Listing } from '../../ui/listing.tsx'
import { changes as words } from '../../words/changes.en.ts'
import type { TabProps } from '../tabs.ts'
import './changes.css'

type Change = { path: string; status: string }

export function ChangesTab({ id }: TabProps) {
  const directory = useConversationState(directoryOf)
  const { data, error, refetch } = useQuery({
    queryKey: ['changes', id, directory],
    queryFn: async ({ signal }) =>
      changesIn(await server.call('GET', '/api/git/changes', { query: { path: directory }, signal })),
    enabled: directory !== '',
  })
  return (
    <div className="changes">
      <Listing
        items={data}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <div className="panel-empty">
            <p>{words.none}</p>
            <p>{words.noneText}</p>
          </div>
        }
      >
        {(files) => (
          <>
            <p className="changes-total">{words.files(files.length)}</p>
            <ul aria-label={words.list}>
              {files.map(({ path, status }) => (
                <li key={path}>
                  <span className="changes-path">{path}</span>
                  <span className="changes-status">{words.status[status] ?? status}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Listing>
    </div>
  )
}

const changesIn = (answer: unknown): Change[] =>
  listOf(answer).map((each) => {
    const { path, status } = membersOf(each)
    return { path: textOf(path), status: textOf(status) }
  })
