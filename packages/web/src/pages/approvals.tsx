/** Everything that waits for a decision, oldest first, grouped by conversation. */
import { Link } from 'wouter'
import { type Approval, useApprovals, useConversations } from '../api/queries.ts'
import { shownStatus } from '../lib/conversations.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { age, fullMoment } from '../lib/time.ts'
import { useNow } from '../lib/use-now.ts'
import { conversationPath } from '../routes.ts'
import { Listing } from '../ui/listing.tsx'
import { en } from '../words/en.ts'
import { ApprovalItem } from './approval-item.tsx'
import './approvals.css'
import { ConversationRow } from './conversation-row.tsx'

export function ApprovalsPage() {
  usePageTitle(en.approvals.title)
  const approvals = useApprovals()
  return (
    <div className="page">
      <h1>{en.approvals.title}</h1>
      {approvals.data === null ? (
        <WaitingConversations />
      ) : (
        <Listing
          items={approvals.data}
          error={approvals.error}
          onRetry={() => void approvals.refetch()}
          empty={<Nothing />}
          skeletons={3}
        >
          {(items) => <Queue items={items} />}
        </Listing>
      )}
    </div>
  )
}

function Queue({ items }: { items: readonly Approval[] }) {
  const now = useNow(30_000)
  const groups = Map.groupBy(items, ({ conversation_id }) => conversation_id)
  return [...groups].map(([id, batches]) => (
    <section key={id} className="queue-group">
      <h2>
        <Link href={conversationPath(id)}>{batches[0]?.title ?? id}</Link>
      </h2>
      {batches.map((batch) => (
        <article key={batch.batch_id} className="queue-batch">
          <p className="queue-note">
            <time dateTime={batch.asked_at} title={fullMoment(Date.parse(batch.asked_at))}>
              {en.approvals.waits(age(Date.parse(batch.asked_at), now))}
            </time>
            {batch.sub_agent_of !== null && ` · ${en.approvals.through(batch.sub_agent_of.join(' › '))}`}
          </p>
          {batch.actions.map((action, index) => (
            <ApprovalItem key={action.action_id ?? action.id ?? index} action={action} />
          ))}
          <Link className="button button-small" href={conversationPath(id, batch.seq)}>
            {en.approvals.review}
          </Link>
        </article>
      ))}
    </section>
  ))
}

/** On a server without the list of approvals: the conversations whose status says that they wait. */
function WaitingConversations() {
  const list = useConversations()
  const now = useNow(30_000)
  return (
    <Listing
      items={list.data?.filter((item) => shownStatus(item) === 'waiting')}
      error={list.error}
      onRetry={() => void list.refetch()}
      empty={<Nothing />}
      skeletons={3}
    >
      {(items) => (
        <ul className="rows">
          {items.map((item) => (
            <ConversationRow key={item.conversation_id} item={item} now={now} />
          ))}
        </ul>
      )}
    </Listing>
  )
}

function Nothing() {
  return (
    <div className="nothing">
      <p>{en.approvals.empty}</p>
      <p className="page-lead">{en.approvals.emptyText}</p>
    </div>
  )
}
