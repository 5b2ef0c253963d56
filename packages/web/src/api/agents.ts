/** Agent profiles of the user, and what a profile can refer to. */
import type { AgentProfile, AgentProfileDiagnostics } from '@parley/protocol'
import { useQuery } from '@tanstack/react-query'
import { get } from './queries.ts'
import { server } from './server.ts'

export type { AgentProfile }
/** A profile that is not stored yet. Absent members have the defaults of the server. */
export type AgentDraft =
  | (Partial<Extract<AgentProfile, { agent_kind: 'openhands' }>> & {
      readonly agent_kind: 'openhands'
      readonly llm_profile_ref: string
    })
  | (Partial<Extract<AgentProfile, { agent_kind: 'acp' }>> & { readonly agent_kind: 'acp' })

export const AGENTS_KEY = ['agent-profiles'] as const

const at = (name: string, path = ''): string => `/api/agent-profiles/${encodeURIComponent(name)}${path}`

/** One profile with all of its members. */
export function useAgentProfile(name: string) {
  return useQuery({
    queryKey: [...AGENTS_KEY, name],
    queryFn: async ({ signal }) => (await get<{ profile: AgentProfile }>(at(name), signal)).profile,
    // A form begins with what is stored now.
    gcTime: 0,
  })
}

/** Names of the tools that an agent can be given. */
export function useToolNames() {
  return useQuery({
    queryKey: ['tools'],
    queryFn: ({ signal }) => get<string[]>('/api/tools/', signal),
    staleTime: 10 * 60_000,
  })
}

/**
 * Stores a profile under `name`, and renames it first when `before` is another name. Resolves to what a start with it would lack.
 * @throws ServerError with status 409 for a taken name, with 422 for members that do not fit
 */
export async function saveAgent(draft: AgentDraft, name: string, before: string | null): Promise<readonly string[]> {
  if (before !== null && before !== name) await server.call('POST', at(before, '/rename'), { body: { new_name: name } })
  await server.call('POST', at(name), { body: draft })
  const { errors } = (await server.call('POST', at(name, '/materialize'))) as AgentProfileDiagnostics
  return errors
}

export async function deleteAgent(name: string): Promise<void> {
  await server.call('DELETE', at(name))
}

/** Makes a profile the one that new conversations offer first. */
export async function makeDefault(id: string): Promise<void> {
  await server.call('POST', at(id, '/activate'))
}
