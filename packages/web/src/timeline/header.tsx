/** Title, status, model, cost and policy of the conversation. */
import { useMemo } from 'react'
import { usePageTitle } from '../lib/page-title.ts'
import { modelOf, policyOf, type State, statusOf, usageOf, waitingBatch } from '../log/state.ts'
import { textOf } from '../log/read.ts'
import { StatusMark } from '../ui/status-mark.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useConversationState } from './context.ts'
import { amountOf, moneyOf } from './format.ts'
import './header.css'

export function ConversationHeader() {
  const state = useConversationState((all) => all)
  const title = textOf(state['title']) || words.untitled
  usePageTitle(title)
  const { cost, input, output } = useMemo(() => usageOf(state), [state])
  const { kind, threshold } = policyOf(state)
  const status = shownOf(state)
  return (
    <header className="conversation-head">
      <h1 title={title}>{title}</h1>
      <span className={`conversation-status ${status}`}>
        <StatusMark status={status} isSilent />
        {words.status[status]}
      </span>
      <dl>
        <Fact name={words.model} value={modelOf(state)} />
        <Fact name={words.policyName} value={words.policy(kind, threshold)} />
        <Fact
          name={words.cost}
          value={cost === null ? '' : moneyOf(cost)}
          hint={words.tokens(amountOf(input), amountOf(output))}
        />
      </dl>
    </header>
  )
}

function Fact({ name, value, hint }: { name: string; value: string; hint?: string }) {
  if (value === '') return null
  return (
    <div title={hint ?? name}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

type Shown = 'running' | 'waiting' | 'failed' | 'paused' | 'finished' | 'idle'

function shownOf(state: State): Shown {
  if (waitingBatch(state) !== null) return 'waiting'
  const status = statusOf(state)
  if (status === 'error' || status === 'stuck') return 'failed'
  if (status === 'waiting_for_confirmation') return 'waiting'
  return status === 'running' || status === 'paused' || status === 'finished' ? status : 'idle'
}
