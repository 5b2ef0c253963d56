/** Who the page acts for. */
import { useQuery } from '@tanstack/react-query'
import { server } from './server.ts'

export type Me = {
  /** Null: the only user of a server without user names. */
  readonly user: string | null
  readonly role: string
  readonly key: { readonly id: string; readonly label: string | null; readonly expires_at: string | null } | null
  readonly session: {
    readonly id: string
    readonly created_at: string
    readonly expires_at: string
    readonly label: string | null
  } | null
  /** The server needs no key. */
  readonly without_keys: boolean
  readonly features: readonly string[]
}

/** The user of this page and what the server offers; an error with status 401 means that a login is needed. */
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    queryFn: async ({ signal }) => (await server.call('GET', '/api/me', { signal })) as Me,
    staleTime: 5 * 60_000,
  })
}
