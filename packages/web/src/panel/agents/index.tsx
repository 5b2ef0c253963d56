/** The sub-agents of a conversation: what each works on, its state, what it has cost, and what waits for a person. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type CSSProperties, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import type { State } from '../../log/state.ts'
import { conversationPath } from '../../routes.ts'
import { amountOf, moneyOf } from '../../timeline/format.ts'
import { useConversationState } from '../../timeline/context.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Listing } from '../../ui/listing.tsx'
import { StatusMark } from '../../ui/status-mark.tsx'
import { agents as words } from '../../words/agents.en.ts'
import type { TabProps } from '../tabs.ts'
import { spentBy, statusOf, type SubAgent, subAgentsOf } from './sub-agents.ts'
import './agents.css'

/** Milliseconds between two reads while a sub-agent works: its events are not in the log of this conversation. */
const WORKING_MS = 3_000

export function AgentsTab({ id }: TabProps) {
  const { data, error, refetch } = useSubAgents(id)
  return (
    <div className="agents">
      <Listing
        items={data}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <div className="panel-empty">
            <p>{words.empty}</p>
            <p>{words.emptyText}</p>
          </div>
        }
      >
        {(items) => (
          <>
            <p className="agents-total">{words.total(items.length, moneyOf(totalOf(items)))}</p>
            <ul aria-label={words.list}>
              {items.map((agent) => (
                <Agent key={agent.id} agent={agent} />
              ))}
            </ul>
          </>
        )}
      </Listing>
    </div>
  )
}

/** A sub-agent contains the costs of those below it. */
const totalOf = (items: readonly SubAgent[]): number =>
  items.filter(({ level }) => level === 0).reduce((total, { info }) => total + spentBy(info).cost, 0)

function Agent({ agent: { id, level, info } }: { agent: SubAgent }) {
  const status = statusOf(info)
  const title = info.title || words.untitled
  const { cost, read, written } = spentBy(info)
  const model = info.agent.kind === 'Agent' ? info.agent.llm.model : ''
  return (
    <li className="agent" style={{ '--level': level } as CSSProperties}>
      <StatusMark status={status} isSilent />
      <div className="agent-task">
        <Link href={conversationPath(id)}>{title}</Link>
        <p className="note">
          {[words.status[status], model, words.tokens(amountOf(read), amountOf(written))].filter(Boolean).join(' · ')}
        </p>
      </div>
      <span className="agent-cost">{moneyOf(cost)}</span>
      {status === 'waiting' && (
        <ButtonLink size="small" href={conversationPath(id)}>
          {words.decide}
        </ButtonLink>
      )}
    </li>
  )
}

const statsOf = (state: State) => state['stats']
const statusIn = (state: State) => state['execution_status']

/** Read again when this conversation reports something of them, and while one works. */
function useSubAgents(id: string) {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: ['sub-agents', id],
    queryFn: ({ signal }) => subAgentsOf(id, signal),
    refetchInterval: ({ state }) => (state.data?.some(({ info }) => isWorking(info)) === true ? WORKING_MS : false),
  })
  const stats = useConversationState(statsOf)
  const status = useConversationState(statusIn)
  const seen = useRef({ stats, status })
  useEffect(() => {
    if (seen.current.stats === stats && seen.current.status === status) return
    seen.current = { stats, status }
    void client.invalidateQueries({ queryKey: ['sub-agents', id] })
  }, [client, id, stats, status])
  return query
}

const isWorking = (info: SubAgent['info']): boolean => ['running', 'waiting'].includes(statusOf(info))
