/** The agents that conversations can have. The address names the one that is edited. */
import { lazy, Suspense } from 'react'
import { useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { useAgentProfile } from '../../api/agents.ts'
import { Failure } from '../../ui/listing.tsx'
import { Menu } from '../../ui/menu.tsx'
import { agents as words } from '../../words/agent-profiles.en.ts'
import { AgentList } from './agent-list.tsx'
import { SettingsFrame } from './frame.tsx'

const AgentForm = lazy(async () => ({ default: (await import('./agent-form.tsx')).AgentForm }))

const KINDS = ['openhands', 'acp'] as const

/** A name that a copy can have. */
const copyOf = (name: string): string => `${name.slice(0, 58)}-copy`

export function AgentsPage() {
  const canWrite = useMe().data?.role !== 'read-only'
  const [search, setSearch] = useSearchParams()
  const open = (member: 'new' | 'edit' | 'copy', value: string): void => setSearch({ [member]: value })
  const close = (): void => setSearch({})
  const kind = KINDS.find((one) => one === search.get('new'))
  const source = search.get('edit') ?? search.get('copy')
  if (canWrite && kind !== undefined)
    return (
      <Suspense>
        <AgentForm key={kind} kind={kind} profile={null} name="" onClose={close} />
      </Suspense>
    )
  if (canWrite && source !== null) return <Edited name={source} isCopy={search.has('copy')} onClose={close} />
  const add = canWrite && (
    <Menu
      label={words.add}
      trigger={words.add}
      triggerClass="button button-primary"
      groups={[{ items: KINDS.map((one) => ({ label: words.addKinds[one], run: () => open('new', one) })) }]}
    />
  )
  return (
    <SettingsFrame of="agents" lead={canWrite ? words.lead : words.readOnly} action={add}>
      <AgentList canWrite={canWrite} onEdit={(name) => open('edit', name)} onCopy={(name) => open('copy', name)} />
    </SettingsFrame>
  )
}

function Edited({ name, isCopy, onClose }: { name: string; isCopy: boolean; onClose: () => void }) {
  const { data: profile, error, refetch } = useAgentProfile(name)
  if (profile === undefined)
    return (
      <SettingsFrame of="agents" lead={null}>
        {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      </SettingsFrame>
    )
  return (
    <Suspense>
      <AgentForm
        key={`${name}${isCopy}`}
        kind={profile.agent_kind}
        profile={profile}
        name={isCopy ? copyOf(name) : name}
        before={isCopy ? null : name}
        onClose={onClose}
      />
    </Suspense>
  )
}
