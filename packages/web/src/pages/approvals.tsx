/** Everything that waits for a decision, oldest first, grouped by conversation. It is decided here or in the conversation. */
import type { WaitingApproval } from '@parley/protocol'
import { Link } from 'wouter'
import { useMe } from '../api/me.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { useNow } from '../lib/use-now.ts'
import { conversationPath } from '../routes.ts'
import { Listing } from '../ui/listing.tsx'
import { useRowKeys } from '../ui/row-keys.ts'
import { en } from '../words/en.ts'
import { queue as words } from '../words/queue.en.ts'
import { ApprovalEntry } from './approval-entry.tsx'
import './approvals.css'
import { type ApprovalQueue, useQueue } from './use-queue.ts'

/** The decisions that the page shows belong to one user. */
export const ApprovalsPage = () => <QueuePage key={useMe().data?.user} />

function QueuePage() {
  usePageTitle(en.approvals.title)
  useRowKeys()
  const queue = useQueue()
  const { entries, error, refetch } = queue
  return (
    <div className="page">
      <h1>{en.approvals.title}</h1>
      <Listing items={entries} error={error} onRetry={() => void refetch()} empty={<Nothing />} skeletons={3}>
        {(items) => <Groups items={items} queue={queue} />}
      </Listing>
      {queue.hasMore && <p className="page-lead">{en.approvals.hasMore}</p>}
    </div>
  )
}

function Groups({ items, queue }: { items: readonly WaitingApproval[]; queue: ApprovalQueue }) {
  const now = useNow(30_000)
  const groups = Map.groupBy(items, ({ root_conversation_id }) => root_conversation_id)
  return (
    <>
      {[...groups].map(([id, batches]) => (
        <section key={id} className="queue-group">
          <h2>
            <Link href={conversationPath(id)}>{batches[0]?.title ?? id}</Link>
          </h2>
          {batches.map((batch) => (
            <ApprovalEntry key={batch.batch_id} batch={batch} queue={queue} now={now} />
          ))}
        </section>
      ))}
      {queue.waiting === 0 && !queue.hasMore && <p className="page-lead">{words.done}</p>}
    </>
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
