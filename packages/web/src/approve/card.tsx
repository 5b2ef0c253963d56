/** The approval that waits: what is asked, and the decision. It is docked above the composer and cannot be folded. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { Button } from '../ui/button.tsx'
import { useKeys } from '../ui/keys.ts'
import { useNow } from '../lib/use-now.ts'
import { durationOf } from '../timeline/format.ts'
import { AskedActionView } from './asked-action.tsx'
import type { Asked } from './request.ts'
import { Risk } from './risk.tsx'
import { useGuard } from './use-guard.ts'
import './card.css'

export type Decide = (decision: { isAccepted: boolean; reason: string; stops: boolean }) => void

type CardProps = {
  asked: Asked
  policy: string
  /** Null: this key may only read. */
  decide: Decide | null
  /** A decision of this page is on its way. */
  isBusy: boolean
  problem: string
  menu: ReactNode
}

export function ApprovalCard({ asked, policy, decide, isBusy, problem, menu }: CardProps) {
  const card = useRef<HTMLElement>(null)
  const [step, setStep] = useState<'asked' | 'armed' | 'refusing'>('asked')
  const counts = useGuard(card, `${asked.batchId} ${step}`)
  useEffect(() => setStep('asked'), [asked.batchId])
  const isReady = asked.actions.every(({ action }) => action !== null)
  const answer = (isAccepted: boolean, reason = '', stops = false) => {
    if (!counts() || isBusy || (isAccepted && !isReady)) return
    decide?.({ isAccepted, reason, stops })
  }
  return (
    <section ref={card} className={`approval ${asked.highest.toLowerCase()}`} aria-labelledby="approval-title">
      <header className="approval-head">
        <h2 id="approval-title">
          {asked.chain.length === 0 ? dockWords.waitsForYou : dockWords.subAgentWaits(asked.chain.join(' › '))}
        </h2>
        <Risk risk={asked.highest} />
        <span className="policy">{policy}</span>
        <Waiting since={asked.since} />
      </header>
      <div className="approval-body">
        {asked.actions.map((action) => (
          <AskedActionView key={action.id} asked={action} />
        ))}
      </div>
      {problem === '' ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {decide === null ? (
        <p className="note">{dockWords.readOnlyApproval}</p>
      ) : step === 'refusing' ? (
        <Refusal
          id={asked.batchId}
          isBusy={isBusy}
          cancel={() => setStep('asked')}
          refuse={(reason, stops) => answer(false, reason, stops)}
        />
      ) : (
        <Decision
          count={asked.actions.length}
          isHigh={asked.highest === 'HIGH'}
          isArmed={step === 'armed'}
          isBusy={isBusy || !isReady}
          counts={counts}
          arm={() => setStep('armed')}
          approve={() => answer(true)}
          refuse={() => setStep('refusing')}
          menu={menu}
        />
      )}
    </section>
  )
}

function Waiting({ since }: { since: number | null }) {
  const now = useNow(1000)
  return since === null ? null : (
    <span className="waiting-since">{dockWords.waitsSince(durationOf(Math.max(0, now - since)))}</span>
  )
}

type DecisionProps = {
  count: number
  isHigh: boolean
  isArmed: boolean
  isBusy: boolean
  counts: () => boolean
  arm: () => void
  approve: () => void
  refuse: () => void
  menu: ReactNode
}

function Decision({ count, isHigh, isArmed, isBusy, counts, arm, approve, refuse, menu }: DecisionProps) {
  const first = useRef<HTMLButtonElement>(null)
  const second = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (isArmed) second.current?.focus()
  }, [isArmed])
  useKeys([
    { keys: 'a', label: words.keys.approve, run: () => (isHigh ? arm() : first.current?.focus()) },
    { keys: 'x', label: words.keys.refuse, run: refuse },
  ])
  return (
    <div className="decision">
      <button
        ref={first}
        type="button"
        className="button button-primary"
        disabled={isBusy}
        aria-disabled={isArmed}
        onClick={() => (isHigh ? counts() && arm() : approve())}
      >
        {dockWords.approve(count)}
      </button>
      {isArmed ? (
        <button ref={second} type="button" className="button button-danger" disabled={isBusy} onClick={approve}>
          {dockWords.approveHigh}
        </button>
      ) : null}
      <Button disabled={isBusy} onClick={refuse}>
        {dockWords.refuse}
      </Button>
      <span className="decision-keys" aria-hidden>
        <kbd>a</kbd> <kbd>↵</kbd> · <kbd>x</kbd>
      </span>
      {menu}
    </div>
  )
}

type RefusalProps = {
  id: string
  isBusy: boolean
  cancel: () => void
  refuse: (reason: string, stops: boolean) => void
}

function Refusal({ id, isBusy, cancel, refuse }: RefusalProps) {
  const [reason, setReason] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [id])
  return (
    <form
      className="refusal"
      onSubmit={(event) => {
        event.preventDefault()
        refuse(reason, false)
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        event.preventDefault()
        cancel()
      }}
    >
      <input
        ref={field}
        value={reason}
        aria-label={dockWords.reason}
        placeholder={dockWords.reasonPlaceholder}
        onChange={(event) => setReason(event.target.value)}
      />
      <Button type="submit" look="danger" disabled={isBusy}>
        {dockWords.refuseNow}
      </Button>
      <Button disabled={isBusy} onClick={() => refuse(reason, true)}>
        {dockWords.refuseAndStop}
      </Button>
      <Button look="quiet" onClick={cancel}>
        {dockWords.back}
      </Button>
    </form>
  )
}
