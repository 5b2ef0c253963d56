/** Shows the batch that waits in this conversation, and the decision when another person has answered. */
import { Ellipsis } from '../ui/icons.ts'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { messageOf, server, ServerError } from '../api/server.ts'
import { membersOf, textOf, timeOf } from '../log/read.ts'
import { type Decision, decisionOf, policyOf, waitingBatch } from '../log/state.ts'
import { useConversationState, useView } from '../timeline/context.ts'
import { clockOf } from '../timeline/format.ts'
import { announce } from '../ui/announce.tsx'
import { Button } from '../ui/button.tsx'
import { Menu } from '../ui/menu.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { ApprovalCard, type Decide } from './card.tsx'
import { askedOf } from './request.ts'

export function ApprovalDock() {
  const { conversation, canAct } = useView()
  const { log } = conversation
  const request = useConversationState(waitingBatch)
  const state = useConversationState((all) => all)
  // Its actions may be loaded later than the request.
  useSyncExternalStore(log.subscribe, () => (request === null ? 0 : log.version()))
  const asked = request === null ? null : askedOf(request, log.eventById)
  const { answered, busyWith, problem, decide, note, dismiss } = useDecision(
    asked?.batchId ?? '',
    (asked?.chain.length ?? 0) > 0,
  )
  useMissingActions(asked?.actions.filter(({ action }) => action === null).map(({ id }) => id) ?? [])
  const [batchId, highest] = [asked?.batchId ?? '', asked?.highest]
  useEffect(() => {
    if (batchId !== '' && highest !== undefined) announce(dockWords.announceApproval(highest), 'assertive')
  }, [batchId, highest])
  if (asked === null || answered === asked.batchId)
    return note === null ? null : <AnsweredElsewhere decision={note} dismiss={dismiss} />
  const { kind, threshold } = policyOf(asked.policy === undefined ? state : { confirmation_policy: asked.policy })
  return (
    <ApprovalCard
      key={asked.batchId}
      asked={asked}
      policy={words.policy(kind, threshold)}
      decide={canAct ? decide : null}
      isBusy={busyWith === asked.batchId}
      problem={problem}
      menu={<PolicyMenu />}
    />
  )
}

/** Sends the decision of this page, and notices those of others. */
function useDecision(batchId: string, isChild: boolean) {
  const { conversation } = useView()
  const decision = useConversationState(decisionOfState)
  const own = useRef(new Set<string>())
  const shown = useRef('')
  const [busyWith, setBusyWith] = useState('')
  const [answered, setAnswered] = useState('')
  const [problem, setProblem] = useState('')
  const [note, setNote] = useState<Decision | null>(null)
  useEffect(() => {
    if (batchId !== '') {
      shown.current = batchId
      setProblem('')
      setNote(null)
    }
  }, [batchId])
  useEffect(() => {
    if (decision === null || decision.batchId !== shown.current || own.current.has(decision.batchId)) return
    setNote(decision)
    announce(dockWords.answeredElsewhere(decision.isAccepted), 'polite')
  }, [decision])
  const decide: Decide = ({ isAccepted, reason, stops }) => {
    own.current.add(batchId)
    setBusyWith(batchId)
    setProblem('')
    const body = { accept: isAccepted, batch_id: batchId, ...(reason === '' ? {} : { reason }) }
    const run = async () => {
      try {
        await server.call('POST', conversation.path('/events/respond_to_confirmation'), { body })
        setAnswered(batchId)
        // The server stops after a refusal; only a sub-agent's parent continues by itself.
        if (stops && isChild) await server.call('POST', conversation.path('/interrupt'))
        if (!stops && !isAccepted && !isChild) await server.call('POST', conversation.path('/run'), { body: {} })
      } catch (error) {
        // Another person was first: the decision arrives as an event and is shown then.
        own.current.delete(batchId)
        const isLate = error instanceof ServerError && error.status === 409
        setProblem(isLate ? dockWords.tooLate : messageOf(error))
      } finally {
        setBusyWith('')
      }
    }
    void run()
  }
  return { answered, busyWith, problem, decide, note, dismiss: () => setNote(null) }
}

const decisions = new WeakMap<object, Decision | null>()

/** The newest decision; the same object while the state has the same one. */
function decisionOfState(state: Parameters<typeof decisionOf>[0]): Decision | null {
  const approval = state['approval']
  if (typeof approval !== 'object' || approval === null) return null
  if (!decisions.has(approval)) decisions.set(approval, decisionOf(state))
  return decisions.get(approval) ?? null
}

/** Loads actions of the batch that are older than what is loaded. */
function useMissingActions(ids: readonly string[]): void {
  const { conversation } = useView()
  const key = ids.join()
  useEffect(() => {
    for (const id of key === '' ? [] : key.split(',')) void conversation.loadEvent(id)
  }, [conversation, key])
}

function AnsweredElsewhere({ decision, dismiss }: { decision: Decision; dismiss: () => void }) {
  return (
    <div className="answered" role="status">
      <span>
        {dockWords.answeredElsewhere(decision.isAccepted)}{' '}
        {dockWords.answeredBy(decision.actor, clockOf(timeOf(decision.at)))}
        {decision.reason === null ? null : ` ${decision.reason}`}
      </span>
      <Button look="quiet" size="small" onClick={dismiss}>
        {dockWords.dismiss}
      </Button>
    </div>
  )
}

/** Changes what this conversation asks about from now on. */
function PolicyMenu() {
  const { conversation } = useView()
  const [problem, setProblem] = useState('')
  const set = (policy: unknown) => {
    server
      .call('POST', conversation.path('/confirmation_policy'), { body: { policy } })
      .then(() => announce(dockWords.policySet))
      .catch((error: unknown) => setProblem(messageOf(error)))
  }
  const { kind, threshold } = useConversationState(policyKey)
  return (
    <>
      <span className="note problem">{problem}</span>
      <Menu
        trigger={<Ellipsis size={16} aria-hidden />}
        label={dockWords.policyMenu}
        triggerLabel={dockWords.policyMenu}
        triggerClass="button button-quiet button-icon"
        side="above"
        groups={[
          {
            title: dockWords.fromNowOn,
            items: [
              {
                label: words.policy('ConfirmRisky', 'HIGH'),
                isChosen: kind === 'ConfirmRisky' && threshold === 'HIGH',
                run: () => set({ kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }),
              },
              {
                label: words.policy('ConfirmRisky', 'MEDIUM'),
                isChosen: kind === 'ConfirmRisky' && threshold === 'MEDIUM',
                run: () => set({ kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: true }),
              },
              {
                label: words.policy('AlwaysConfirm', ''),
                isChosen: kind === 'AlwaysConfirm',
                run: () => set({ kind: 'AlwaysConfirm' }),
              },
            ],
          },
        ]}
      />
    </>
  )
}

const policies = new WeakMap<object, { kind: string; threshold: string }>()
const DEFAULT_POLICY = { kind: 'NeverConfirm', threshold: '' }

function policyKey(state: Parameters<typeof policyOf>[0]): { kind: string; threshold: string } {
  const policy = membersOf(state['confirmation_policy'])
  if (textOf(policy['kind']) === '') return DEFAULT_POLICY
  const known = policies.get(policy) ?? policyOf(state)
  policies.set(policy, known)
  return known
}
