/** Lists of the server. They are read again on focus, and when the feed or an open conversation reports a change. */
import type { ConversationProgress, ConversationProgressPage, WaitingApprovals } from '@parley/protocol'
import { type QueryClient, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { PolicySettings } from '../lib/policy.ts'
import { server } from './server.ts'

const PAGE = 50

export type { ConversationProgress }

/** Reads JSON of the server for a query. */
export const get = async <T>(path: string, signal: AbortSignal, query: Record<string, string | number | null> = {}) =>
  (await server.call('GET', path, { query, signal })) as T

/** Conversations that belong to no other one, newest first, in pages. */
export function useConversations() {
  return useInfiniteQuery({
    queryKey: ['conversations'],
    queryFn: ({ pageParam, signal }) =>
      get<ConversationProgressPage>('/api/conversations', signal, { limit: PAGE, page_id: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_page_id }) => next_page_id,
    select: ({ pages }): ConversationProgress[] => pages.flatMap(({ results }) => results),
  })
}

/** All batches that wait for a decision, oldest first. */
export function useApprovals() {
  return useQuery({
    queryKey: ['approvals'],
    queryFn: ({ signal }) => get<WaitingApprovals>('/api/approvals', signal),
  })
}

/** Reads the lists again. Called when an open conversation reports a change of its status or title. */
export function refreshLists(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: ['conversations'] })
  void client.invalidateQueries({ queryKey: ['approvals'] })
}

type AgentProfiles = {
  profiles: { id: string; name: string; agent_kind: string; llm_profile_ref: string | null }[]
  active_agent_profile_id: string | null
}

/** The active profile may have been deleted. */
const withChosen = (answer: AgentProfiles): AgentProfiles =>
  answer.profiles.some(({ id }) => id === answer.active_agent_profile_id)
    ? answer
    : { ...answer, active_agent_profile_id: null }

/** Name and id of the agent profiles, and the one that is offered first. */
export function useAgentProfiles() {
  return useQuery({
    queryKey: ['agent-profiles'],
    queryFn: ({ signal }) => get<AgentProfiles>('/api/agent-profiles', signal),
    staleTime: 60_000,
    select: withChosen,
  })
}

/** Names and models of the saved model profiles. */
export function useModelProfiles() {
  type Answer = { profiles: { name: string; model: string | null }[]; active_profile: string | null }
  return useQuery({
    queryKey: ['profiles'],
    queryFn: ({ signal }) => get<Answer>('/api/profiles', signal),
    staleTime: 60_000,
  })
}

/** The members of the settings that the pages show. */
export type SettingsAnswer = PolicySettings & {
  llm_model: string | null
  llm_base_url: string | null
  llm_api_key_set: boolean
  agent_settings: { agent_kind?: string; llm?: { model?: string }; mcp_config?: Readonly<Record<string, unknown>> }
}

/** What the settings say about the model and the policy of new conversations. */
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => get<SettingsAnswer>('/api/settings', signal),
  staleTime: 60_000,
})
export const useSettings = () => useQuery(settingsQuery)

/** The repository and the branch that a conversation was started with; null asks for nothing. */
export function useStartOf(id: string | null) {
  return useQuery({
    queryKey: ['start', id],
    queryFn: ({ signal }) =>
      get<ConversationProgress>(`/api/conversations/${encodeURIComponent(id ?? '')}/status`, signal),
    enabled: id !== null,
  })
}

/** Subdirectories of a directory of the server, for completing a path. An unreadable directory has none. */
export function useSubdirectories(path: string) {
  return useQuery({
    queryKey: ['subdirectories', path],
    queryFn: ({ signal }) => get<{ items: { path: string }[] }>('/api/file/search_subdirs', signal, { path }),
    enabled: path.startsWith('/'),
    staleTime: 30_000,
    retry: false,
  })
}

/** The directory of the server from which a person begins to browse. */
export function useHomeDirectory() {
  return useQuery({
    queryKey: ['home-directory'],
    queryFn: ({ signal }) => get<{ home: string }>('/api/file/home', signal),
    staleTime: 10 * 60_000,
  })
}
