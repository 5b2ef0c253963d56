/** Shows the batch that waits in this conversation, and the decision when another person has answered. */
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { messageOf, ServerError } from '../api/server.ts'
import { type Decision, decisionOf, policyOf, waitingBatch } from '../log/state.ts'
import { useConversationState, useView } from '../timeline/context.ts'
import { announce } from '../ui/announce.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { ApprovalCard, type Decide } from './card.tsx'
import { askedOf } from './request.ts'
import { respond } from './respond.ts'

const AnsweredElsewhere = lazy(async () => ({ default: (await import('./answered-elsewhere.tsx')).AnsweredElsewhere }))
const PolicyMenu = lazy(async () => ({ default: (await import('./policy-menu.tsx')).PolicyMenu }))

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
    return note === null ? null : (
      <Suspense>
        <AnsweredElsewhere decision={note} dismiss={dismiss} />
      </Suspense>
    )
  const { kind, threshold } = policyOf(asked.policy === undefined ? state : { confirmation_policy: asked.policy })
  return (
    <ApprovalCard
      key={asked.batchId}
      asked={asked}
      policy={words.policy(kind, threshold)}
      decide={canAct ? decide : null}
      isBusy={busyWith === asked.batchId}
      problem={problem}
      menu={
        <Suspense>
          <PolicyMenu />
        </Suspense>
      }
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
  const decide: Decide = (answer) => {
    own.current.add(batchId)
    setBusyWith(batchId)
    setProblem('')
    const batch = { batchId, isForSubAgent: isChild, path: (rest: string) => conversation.path(rest) }
    respond(batch, answer, () => setAnswered(batchId))
      .catch((error: unknown) => {
        // Another person was first: the decision arrives as an event and is shown then.
        own.current.delete(batchId)
        const isLate = error instanceof ServerError && error.status === 409
        setProblem(isLate ? dockWords.tooLate : messageOf(error))
      })
      .finally(() => setBusyWith(''))
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
