/** Everything that waits for a decision, oldest first, grouped by conversation. */
import type { WaitingApproval } from '@parley/protocol'
import { Link } from 'wouter'
import { useApprovals } from '../api/queries.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { age, fullMoment, utcTime } from '../lib/time.ts'
import { useNow } from '../lib/use-now.ts'
import { conversationPath } from '../routes.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Listing } from '../ui/listing.tsx'
import { useRowKeys } from '../ui/row-keys.ts'
import { en } from '../words/en.ts'
import { ApprovalItem } from './approval-item.tsx'
import './approvals.css'

export function ApprovalsPage() {
  usePageTitle(en.approvals.title)
  useRowKeys()
  const { data, error, refetch } = useApprovals()
  return (
    <div className="page">
      <h1>{en.approvals.title}</h1>
      <Listing items={data?.approvals} error={error} onRetry={() => void refetch()} empty={<Nothing />} skeletons={3}>
        {(items) => <Queue items={items} />}
      </Listing>
      {data?.has_more === true && <p className="page-lead">{en.approvals.hasMore}</p>}
    </div>
  )
}

function Queue({ items }: { items: readonly WaitingApproval[] }) {
  const now = useNow(30_000)
  const groups = Map.groupBy(items, ({ root_conversation_id }) => root_conversation_id)
  return [...groups].map(([id, batches]) => (
    <section key={id} className="queue-group">
      <h2>
        <Link href={conversationPath(id)}>{batches[0]?.title ?? id}</Link>
      </h2>
      {batches.map((batch) => (
        <Batch key={batch.batch_id} batch={batch} now={now} />
      ))}
    </section>
  ))
}

function Batch({ batch, now }: { batch: WaitingApproval; now: number }) {
  const asked = utcTime(batch.asked_at)
  return (
    <article className="queue-batch">
      {batch.actions.map((action) => (
        <ApprovalItem key={action.action_id} action={action} />
      ))}
      <footer className="queue-foot">
        <span className="queue-note">
          <time dateTime={new Date(asked).toISOString()} title={fullMoment(asked)}>
            {en.approvals.waits(age(asked, now))}
          </time>
          {batch.sub_agent_of !== null && ` · ${en.approvals.through(batch.sub_agent_of.join(' › '))}`}
        </span>
        <ButtonLink size="small" href={conversationPath(batch.conversation_id, batch.seq)} isRow>
          {en.approvals.review}
        </ButtonLink>
      </footer>
    </article>
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
