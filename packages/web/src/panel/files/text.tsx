/** The text of a file with line numbers, part by part. */
import type { TextPart } from '@parley/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { memo } from 'react'
import { get } from '../../api/queries.ts'
import { useView } from '../../timeline/context.ts'
import { fullTimeOf } from '../../timeline/format.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, Listing } from '../../ui/listing.tsx'
import { files as words } from '../../words/files.en.ts'
import { Download } from './download.tsx'

export function Text({ id, path }: { id: string; path: string }) {
  const { conversation } = useView()
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchNextPageError } = useInfiniteQuery({
    queryKey: ['files', id, 'text', path],
    queryFn: ({ pageParam, signal }) =>
      get<TextPart>(conversation.path('/files/text'), signal, { path, offset: pageParam }),
    initialPageParam: 0,
    getNextPageParam: ({ next_offset }) => next_offset,
  })
  const parts = data?.pages
  const [first] = parts ?? []
  const last = parts?.at(-1)
  return (
    <Listing items={parts} error={error} onRetry={() => void refetch()} empty={null}>
      {(shown) => (
        <>
          <p className="files-facts">
            <span>{words.sizeOf(first!.size)}</span>
            <time dateTime={first!.modified_at}>{fullTimeOf(Date.parse(first!.modified_at))}</time>
            <Download id={id} path={path} />
          </p>
          {first!.text === null ? (
            <p className="note files-note">{words.notText}</p>
          ) : first!.size === 0 ? (
            <p className="note files-note">{words.emptyFile}</p>
          ) : (
            <Numbered parts={shown} label={words.contentOf(path)} />
          )}
          {isFetchNextPageError && <Failure error={error} onRetry={() => void fetchNextPage()} />}
          {hasNextPage && !isFetchNextPageError && (
            <p className="files-more">
              <Button size="small" onClick={() => void fetchNextPage()}>
                {words.more}
              </Button>
              <span className="note">{words.rest(first!.size - (last?.next_offset ?? 0))}</span>
            </p>
          )}
        </>
      )}
    </Listing>
  )
}

function Numbered({ parts, label }: { parts: readonly TextPart[]; label: string }) {
  let line = 1
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard
    <div className="files-text" role="region" aria-label={label} tabIndex={0}>
      {parts.map(({ offset, text }) => {
        const from = line
        const shown = (text ?? '').replace(/\n$/, '')
        line += shown.split('\n').length
        return <Part key={offset} text={shown} from={from} />
      })}
    </div>
  )
}

/** Two texts side by side, because an element for each line would make a large file slow. */
const Part = memo(function Part({ text, from }: { text: string; from: number }) {
  const count = text.split('\n').length
  return (
    <div className="files-part">
      <pre className="files-numbers" aria-hidden>
        {Array.from({ length: count }, (_, index) => from + index).join('\n')}
      </pre>
      <pre>{text}</pre>
    </div>
  )
})
