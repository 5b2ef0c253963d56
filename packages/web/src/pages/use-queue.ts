/** The entries of the queue: the batches that wait, the one that is open, and those that were decided on this page. */
import type { WaitingApproval } from '@parley/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { refreshLists, useApprovals } from '../api/queries.ts'
import type { Answer } from '../approve/respond.ts'
import { announce } from '../ui/announce.tsx'
import { queue as words } from '../words/queue.en.ts'

export type Outcome = {
  readonly batch: WaitingApproval
  readonly kind: 'approved' | 'refused' | 'elsewhere'
  readonly reason: string
  readonly stops: boolean
  /** Why the conversation did not continue after the decision; empty otherwise. */
  readonly problem: string
}

export function useQueue() {
  const client = useQueryClient()
  const { data, error, refetch } = useApprovals()
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  const [chosen, setChosen] = useState<WaitingApproval | null>(null)
  /** Batch whose entry takes the focus when it is shown next. */
  const focusOn = useRef('')
  const listed = data?.approvals
  const waiting = listed?.filter(({ batch_id }) => !outcomes.has(batch_id))
  const open = waiting?.find(({ batch_id }) => batch_id === chosen?.batch_id) ?? waiting?.[0] ?? null

  const note = (outcome: Outcome) => {
    const { batch, kind } = outcome
    const left = waiting?.filter(({ batch_id }) => batch_id !== batch.batch_id) ?? []
    setOutcomes((all) => new Map(all).set(batch.batch_id, outcome))
    const next = left.find(({ asked_at }) => asked_at >= batch.asked_at) ?? left[0] ?? null
    setChosen(next)
    announce(words.announce(words.outcomes[kind], left.length))
    return next
  }
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the condition ends the chain of updates
  useEffect(() => {
    if (listed === undefined || open?.batch_id === chosen?.batch_id) return
    // An answer of another tab or client: the entry stays and says so. The focus stays where it is.
    if (chosen !== null && !outcomes.has(chosen.batch_id))
      note({ batch: chosen, kind: 'elsewhere', reason: '', stops: false, problem: '' })
    else setChosen(open)
  })

  const decided = (batch: WaitingApproval, { isAccepted, reason, stops }: Answer) => {
    const next = note({ batch, kind: isAccepted ? 'approved' : 'refused', reason, stops, problem: '' })
    focusOn.current = (next ?? batch).batch_id
    refreshLists(client)
  }
  const failed = ({ batch_id }: WaitingApproval, problem: string) =>
    setOutcomes((all) => {
      const known = all.get(batch_id)
      return known === undefined ? all : new Map(all).set(batch_id, { ...known, problem })
    })
  const choose = (batch: WaitingApproval) => {
    focusOn.current = batch.batch_id
    setChosen(batch)
  }
  return {
    entries: listed === undefined ? undefined : entriesOf(waiting ?? [], outcomes),
    waiting: waiting?.length ?? 0,
    hasMore: data?.has_more === true,
    error,
    refetch,
    outcomes,
    open,
    focusOn,
    decided,
    failed,
    choose,
    refresh: () => refreshLists(client),
  }
}

export type ApprovalQueue = ReturnType<typeof useQueue>

/** Waiting and decided batches, oldest first: a decided one keeps its place. */
function entriesOf(waiting: readonly WaitingApproval[], outcomes: ReadonlyMap<string, Outcome>): WaitingApproval[] {
  const all = [...waiting, ...[...outcomes.values()].map(({ batch }) => batch)]
  return all.sort((a, b) => (a.asked_at < b.asked_at ? -1 : Number(a.asked_at > b.asked_at)))
}
