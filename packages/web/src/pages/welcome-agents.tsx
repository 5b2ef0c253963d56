/** The agents that the server knows: what is installed, and how to install the others. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { AcpServer } from '@parley/protocol'
import { useLocation } from 'wouter'
import { get } from '../api/queries.ts'
import { server } from '../api/server.ts'
import { ROUTES } from '../routes.ts'
import { Button } from '../ui/button.tsx'
import { Wrench } from '../ui/icons.ts'
import { Failure, Listing } from '../ui/listing.tsx'
import { welcome } from '../words/welcome.en.ts'
import { Choice } from './welcome-choice.tsx'

const words = welcome.agents

export function AgentsChoice() {
  const { data, error, refetch } = useQuery({
    queryKey: ['acp-servers'],
    queryFn: ({ signal }) => get<{ servers: AcpServer[] }>('/api/acp/servers', signal),
  })
  const servers = data?.servers
  const hasOne = servers === undefined || servers.some(({ installed }) => installed)
  const list = (
    <div className="welcome-agents">
      <Listing items={servers} error={error} onRetry={() => void refetch()} empty={null} skeletons={3}>
        {(items) => (
          <ul>
            {items.map((item) => (
              <Agent key={item.id} item={item} />
            ))}
          </ul>
        )}
      </Listing>
    </div>
  )
  return <Choice icon={Wrench} title={words.title} text={hasOne ? words.text : words.none} below={list} />
}

function Agent({ item }: { item: AcpServer }) {
  const start = useAgentStart(item.id)
  const name = words.names[item.id]
  return (
    <li className="welcome-agent">
      <span className="welcome-agent-name">{name}</span>
      <span className="welcome-agent-state">
        {item.installed ? (
          stateOf(item)
        ) : (
          <>
            {words.missing} <code>{item.install}</code>
          </>
        )}
      </span>
      {item.installed && (
        <Button size="small" aria-label={words.use(name)} disabled={start.isPending} onClick={() => start.mutate()}>
          {words.useShort}
        </Button>
      )}
      {start.isError && <Failure error={start.error} onRetry={() => start.mutate()} />}
    </li>
  )
}

function stateOf({ version, login, secret_name }: AcpServer): string {
  const installed = version === null ? words.installed : words.version(version)
  return `${installed} · ${login === null ? words.noLogin(secret_name) : words.logins[login]}`
}

type Profiles = { profiles: { id: string; name: string; agent_kind: string }[] }

/** Opens the page of a new conversation with a profile of the agent, which is made where none has its name. */
function useAgentStart(agent: AcpServer['id']) {
  const [, navigate] = useLocation()
  return useMutation({
    mutationFn: async () => {
      const read = async () => ((await server.call('GET', '/api/agent-profiles')) as Profiles).profiles
      const before = await read()
      const kindOf = (name: string) => before.find((one) => one.name === name)?.agent_kind
      const name = [agent, `acp-${agent}`].find((one) => ['acp', undefined].includes(kindOf(one))) ?? agent
      if (kindOf(name) === undefined)
        await server.call('POST', `/api/agent-profiles/${name}`, { body: { agent_kind: 'acp', acp_server: agent } })
      return (await read()).find((one) => one.name === name)?.id ?? ''
    },
    onSuccess: (id) => navigate(`${ROUTES.create}?where=directory&agent=${id}`),
  })
}
