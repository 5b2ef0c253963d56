/** One batch of the queue: closed, open with its card, or decided. */
import type { WaitingApproval } from '@parley/protocol'
import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react'
import { useMe } from '../api/me.ts'
import { age, fullMoment, utcTime } from '../lib/time.ts'
import { conversationPath } from '../routes.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { en } from '../words/en.ts'
import { queue as words } from '../words/queue.en.ts'
import { ApprovalItem } from './approval-item.tsx'
import type { ApprovalQueue, Outcome } from './use-queue.ts'

const QueueCard = lazy(async () => ({ default: (await import('../approve/queue-card.tsx')).QueueCard }))

type EntryProps = { batch: WaitingApproval; queue: ApprovalQueue; now: number }

export function ApprovalEntry({ batch, queue, now }: EntryProps) {
  const article = useRef<HTMLElement>(null)
  const me = useMe().data
  const canAct = me !== undefined && me.role !== 'read-only'
  const outcome = queue.outcomes.get(batch.batch_id)
  const isOpen = canAct && queue.open?.batch_id === batch.batch_id
  const { focusOn } = queue
  useEffect(() => {
    if (focusOn.current !== batch.batch_id) return
    focusOn.current = ''
    article.current?.focus()
  }, [batch.batch_id, focusOn, isOpen, outcome])
  const tools = batch.actions.map(({ tool_name, summary }) => summary ?? tool_name).join(', ')
  return (
    <article
      ref={article}
      className="queue-batch"
      tabIndex={-1}
      aria-label={words.entry(batch.title ?? batch.root_conversation_id, tools)}
    >
      {outcome === undefined ? (
        <Waiting batch={batch} queue={queue} isOpen={isOpen} />
      ) : (
        <Decided outcome={outcome} tools={tools} />
      )}
      <Foot batch={batch} now={now}>
        {canAct && !isOpen && outcome === undefined && (
          <Button size="small" aria-label={words.decideAbout(tools)} onClick={() => queue.choose(batch)}>
            {words.decide}
          </Button>
        )}
      </Foot>
    </article>
  )
}

function Waiting({ batch, queue, isOpen }: { batch: WaitingApproval; queue: ApprovalQueue; isOpen: boolean }) {
  const items = batch.actions.map((action) => <ApprovalItem key={action.action_id} action={action} />)
  if (!isOpen) return items
  return (
    <Suspense fallback={items}>
      <QueueCard
        batch={batch}
        onDecided={(answer) => queue.decided(batch, answer)}
        onProblem={(problem) => queue.failed(batch, problem)}
        onLate={queue.refresh}
      />
    </Suspense>
  )
}

function Decided({ outcome: { kind, reason, stops, problem }, tools }: { outcome: Outcome; tools: string }) {
  return (
    <div className="queue-decided">
      <p>
        <strong>{words.outcomes[kind]}</strong> {tools}
      </p>
      {reason !== '' && <p>{words.because(reason)}</p>}
      {stops && problem === '' && <p>{words.stopped}</p>}
      {problem !== '' && (
        <p className="problem" role="alert">
          {words.notContinued(problem)}
        </p>
      )}
    </div>
  )
}

function Foot({ batch, now, children }: { batch: WaitingApproval; now: number; children: ReactNode }) {
  const asked = utcTime(batch.asked_at)
  return (
    <footer className="queue-foot">
      <span className="queue-note">
        <time dateTime={new Date(asked).toISOString()} title={fullMoment(asked)}>
          {en.approvals.waits(age(asked, now))}
        </time>
        {batch.sub_agent_of !== null && ` · ${en.approvals.through(batch.sub_agent_of.join(' › '))}`}
      </span>
      <span className="queue-actions">
        {children}
        <ButtonLink size="small" href={conversationPath(batch.conversation_id, batch.seq)} isRow>
          {en.approvals.review}
        </ButtonLink>
      </span>
    </footer>
  )
}
