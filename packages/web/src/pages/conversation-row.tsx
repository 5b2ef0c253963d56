import { memo } from 'react'
import { Link } from 'wouter'
import type { ConversationProgress } from '../api/queries.ts'
import type { Shown } from '../lib/conversations.ts'
import { age, fullMoment } from '../lib/time.ts'
import { conversationPath } from '../routes.ts'
import { StatusMark } from '../ui/status-mark.tsx'
import { en } from '../words/en.ts'
import './conversation-row.css'

/** Statuses that are written out; the others are told by their mark. */
const WORDED: readonly Shown[] = ['waiting', 'failed', 'start_failed', 'starting', 'paused', 'stopped']

type RowProps = {
  readonly item: ConversationProgress
  readonly shown: Shown
  /** What a person is asked in it. */
  readonly asked: string | undefined
  readonly now: number
}

/** A conversation in a list: status, title, where it works, and when something happened. */
export const ConversationRow = memo(({ item, shown, asked, now }: RowProps) => {
  const changed = Date.parse(item.last_updated_at)
  const isWorded = WORDED.includes(shown)
  return (
    <li>
      <Link href={conversationPath(item.conversation_id)} className="home-row" data-row>
        <StatusMark status={shown} isSilent={isWorded} />
        <span className="home-row-title">{item.title}</span>
        <Detail item={item} shown={shown} asked={asked} />
        {isWorded && <span className={`home-row-status home-row-${shown}`}>{en.status[shown]}</span>}
        <time dateTime={item.last_updated_at} title={fullMoment(changed)}>
          {age(changed, now)}
        </time>
      </Link>
    </li>
  )
})

function Detail({ item, shown, asked }: Omit<RowProps, 'now'>) {
  if (asked !== undefined) return <span className="home-row-detail">{asked}</span>
  if (shown === 'start_failed' && item.reason !== null) return <span className="home-row-detail">{item.reason}</span>
  if (item.selected_repository === null) return null
  const branch = item.selected_branch === null ? '' : ` · ${item.selected_branch}`
  return <span className="home-row-detail">{item.selected_repository + branch}</span>
}
