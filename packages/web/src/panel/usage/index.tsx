/** Tokens and costs of a conversation, by model and by call. */
import type { ConversationUsage } from '@parley/protocol'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { get } from '../../api/queries.ts'
import type { State } from '../../log/state.ts'
import { useConversationState, useView } from '../../timeline/context.ts'
import { Button } from '../../ui/button.tsx'
import { Listing } from '../../ui/listing.tsx'
import { usage as words } from '../../words/usage.en.ts'
import type { TabProps } from '../tabs.ts'
import { Calls } from './calls.tsx'
import { Models } from './models.tsx'
import { Summary } from './summary.tsx'
import './usage.css'

const PAGE = 100
/** Milliseconds between two reads while a run adds calls. */
const PAUSE_MS = 1_000

const statsOf = (state: State) => state['stats']

export function UsageTab({ id }: TabProps) {
  const { pages, error, refetch, more } = useUsage(id)
  const first = pages?.[0]
  const calls = pages?.flatMap((page) => page.calls)
  return (
    <div className="usage">
      <Listing
        items={calls === undefined ? undefined : [...Object.keys(first?.totals ?? {}), ...calls]}
        error={error}
        onRetry={refetch}
        empty={
          <div className="panel-empty">
            <p>{words.empty}</p>
            <p>{words.emptyText}</p>
          </div>
        }
      >
        {() => (
          <>
            <Summary usage={first!} />
            <Models models={first!.models ?? []} />
            <Calls calls={calls ?? []} />
            {more !== null && (
              <Button size="small" className="usage-more" onClick={more}>
                {words.more}
              </Button>
            )}
          </>
        )}
      </Listing>
    </div>
  )
}

/** The usage, read again when the totals of the conversation change. */
function useUsage(id: string) {
  const { conversation } = useView()
  const client = useQueryClient()
  const { data, error, refetch, fetchNextPage, hasNextPage } = useInfiniteQuery({
    queryKey: ['usage', id],
    queryFn: ({ pageParam, signal }) =>
      get<ConversationUsage>(conversation.path('/usage'), signal, { limit: PAGE, before_seq: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next_before_seq }) => next_before_seq,
  })
  const stats = useConversationState(statsOf)
  const loaded = useRef(stats)
  useEffect(() => {
    if (stats === loaded.current) return undefined
    const timer = setTimeout(() => void client.invalidateQueries({ queryKey: ['usage', id] }), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [client, id, stats])
  return {
    pages: data?.pages,
    error,
    refetch: () => void refetch(),
    more: hasNextPage ? () => void fetchNextPage() : null,
  }
}
