/** The conversations in the rail, grouped by day. */
import { memo } from 'react'
import { Link, useRoute } from 'wouter'
import { type ConversationProgress, useConversations } from '../api/queries.ts'
import { filtered, shownStatus, type Shown } from '../lib/conversations.ts'
import { byDay } from '../lib/time.ts'
import { useNow } from '../lib/use-now.ts'
import { useAskedIn } from '../lib/use-waiting.ts'
import { conversationPath, ROUTES } from '../routes.ts'
import { Button } from '../ui/button.tsx'
import { Listing } from '../ui/listing.tsx'
import { StatusMark } from '../ui/status-mark.tsx'
import { en } from '../words/en.ts'

export function ConversationList({ filter, onNavigate }: { filter: string; onNavigate: (() => void) | undefined }) {
  const list = useConversations()
  const asked = useAskedIn()
  const now = useNow(60_000)
  const [, params] = useRoute(ROUTES.conversation)
  const shown = list.data === undefined ? undefined : filtered(list.data, filter)
  const isFiltered = filter.trim() !== ''
  return (
    <div className="rail-list">
      <Listing
        items={shown}
        error={list.error}
        onRetry={() => void list.refetch()}
        empty={<p className="rail-note">{isFiltered ? en.rail.noMatch(filter.trim()) : en.rail.empty}</p>}
      >
        {(items) =>
          byDay(items, ({ created_at }) => Date.parse(created_at), now).map(({ day, items: ofDay }) => (
            <section key={day}>
              <h2>{day}</h2>
              <ul>
                {ofDay.map((item) => (
                  <Item
                    key={item.conversation_id}
                    item={item}
                    shown={shownStatus(item, asked)}
                    isHere={params?.id === item.conversation_id}
                    onNavigate={onNavigate}
                  />
                ))}
              </ul>
            </section>
          ))
        }
      </Listing>
      {list.hasNextPage && (
        <Button
          look="quiet"
          size="small"
          className="rail-more"
          disabled={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {list.isFetchingNextPage ? en.loading : en.showMore}
        </Button>
      )}
    </div>
  )
}

type ItemProps = { item: ConversationProgress; shown: Shown; isHere: boolean; onNavigate: (() => void) | undefined }

const Item = memo(({ item, shown, isHere, onNavigate }: ItemProps) => (
  <li>
    <Link
      href={conversationPath(item.conversation_id)}
      className="rail-item"
      aria-current={isHere ? 'page' : undefined}
      title={item.title}
      onClick={onNavigate}
    >
      <StatusMark status={shown} />
      <span className="rail-title">{item.title}</span>
    </Link>
  </li>
))
