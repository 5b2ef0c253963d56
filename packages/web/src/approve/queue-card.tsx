/** The card of an approval in the queue: the same decision as in the conversation. */
import type { WaitingApproval } from '@parley/protocol'
import { useMemo, useState } from 'react'
import { messageOf, ServerError } from '../api/server.ts'
import type { LogEvent } from '../log/read.ts'
import { policyOf } from '../log/state.ts'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { ApprovalCard, type Decide } from './card.tsx'
import { type Asked, askedOf } from './request.ts'
import { type Answer, respond } from './respond.ts'

type QueueCardProps = {
  batch: WaitingApproval
  onDecided: (answer: Answer) => void
  /** The decision is stored, and a request after it failed. */
  onProblem: (problem: string) => void
  /** The batch does not wait any more. */
  onLate: () => void
}

export function QueueCard({ batch, onDecided, onProblem, onLate }: QueueCardProps) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const asked = useMemo(() => askedOfBatch(batch), [batch])
  const { kind, threshold } = policyOf({ confirmation_policy: batch.policy })
  const decide: Decide = (answer) => {
    setBusy(true)
    setProblem('')
    let isStored = false
    const accepted = () => {
      isStored = true
      onDecided(answer)
    }
    respond(addressOf(batch), answer, accepted).catch((error: unknown) => {
      if (isStored) return onProblem(messageOf(error))
      setBusy(false)
      const isLate = error instanceof ServerError && error.status === 409
      setProblem(isLate ? dockWords.tooLate : messageOf(error))
      if (isLate) onLate()
    })
  }
  return (
    <ApprovalCard
      asked={asked}
      policy={words.policy(kind, threshold)}
      decide={decide}
      isBusy={isBusy}
      problem={problem}
      menu={null}
    />
  )
}

function addressOf({ batch_id, conversation_id, root_conversation_id, sub_agent_of }: WaitingApproval) {
  return {
    batchId: batch_id,
    isForSubAgent: sub_agent_of !== null && conversation_id === root_conversation_id,
    path: (rest: string) => `/api/conversations/${encodeURIComponent(conversation_id)}${rest}`,
  }
}

function askedOfBatch(batch: WaitingApproval): Asked {
  const events = new Map(batch.actions.map((action): [string, LogEvent] => [action.action_id, eventOf(action)]))
  return { ...askedOf(batch, (id) => events.get(id)), chain: batch.sub_agent_of ?? [] }
}

const eventOf = (action: WaitingApproval['actions'][number]): LogEvent => ({
  kind: 'ActionEvent',
  id: action.action_id,
  timestamp: '',
  thought: [{ type: 'text', text: action.thought }],
  tool_call: { arguments: action.arguments },
})
