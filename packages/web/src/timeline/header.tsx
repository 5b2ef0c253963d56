/** Title, status, model, cost and policy of the conversation. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo } from 'react'
import { refreshLists } from '../api/queries.ts'
import { server } from '../api/server.ts'
import { usePageTitle } from '../lib/page-title.ts'
import { modelOf, policyOf, type State, statusOf, usageOf, waitingBatch } from '../log/state.ts'
import { membersOf, textOf } from '../log/read.ts'
import { StatusMark } from '../ui/status-mark.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useConversationState, useView } from './context.ts'
import { amountOf, moneyOf } from './format.ts'
import './header.css'

const FindButton = lazy(async () => ({ default: (await import('./find/index.ts')).FindButton }))
const PanelButton = lazy(async () => ({ default: (await import('../panel/index.ts')).PanelButton }))

export function ConversationHeader() {
  const state = useConversationState((all) => all)
  const title = useTitle() || words.untitled
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
      <Suspense>
        <FindButton />
        <PanelButton />
      </Suspense>
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

/** The title, which the server may choose some time after the first message. */
function useTitle(): string {
  const { conversation } = useView()
  const status = useConversationState(statusOf)
  const client = useQueryClient()
  const { data } = useQuery({
    queryKey: ['conversations', 'one', conversation.id],
    queryFn: async ({ signal }) => membersOf(await server.call('GET', conversation.path(), { signal })),
  })
  useEffect(() => refreshLists(client), [status, client])
  return textOf(data?.['title'])
}

type Shown = 'running' | 'waiting' | 'failed' | 'paused' | 'finished' | 'idle'

function shownOf(state: State): Shown {
  if (waitingBatch(state) !== null) return 'waiting'
  const status = statusOf(state)
  if (status === 'error' || status === 'stuck') return 'failed'
  if (status === 'waiting_for_confirmation') return 'waiting'
  return status === 'running' || status === 'paused' || status === 'finished' ? status : 'idle'
}
