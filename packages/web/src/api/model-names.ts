/** Names of providers and models that the server knows. */
import { useQuery } from '@tanstack/react-query'
import { get } from './queries.ts'

/** Prefixes of model names that the server knows. */
export function useModelProviders() {
  return useQuery({
    queryKey: ['model-providers'],
    queryFn: ({ signal }) => get<{ providers: string[] }>('/api/llm/providers', signal),
    staleTime: Infinity,
  })
}

/** Names of models of a provider, without its prefix: those that are known to work well, or else all that the server knows. */
export function useModelNames(provider: string): readonly string[] {
  const verified = useQuery({
    queryKey: ['model-names'],
    queryFn: ({ signal }) => get<{ models: Record<string, string[]> }>('/api/llm/models/verified', signal),
    staleTime: Infinity,
  }).data?.models
  const known = verified?.[provider]
  const all = useQuery({
    queryKey: ['model-names', provider],
    queryFn: ({ signal }) => get<{ models: string[] }>('/api/llm/models', signal, { provider }),
    enabled: verified !== undefined && known === undefined,
    staleTime: Infinity,
  }).data?.models
  return known ?? all?.map((name) => name.slice(provider.length + 1)) ?? []
}
