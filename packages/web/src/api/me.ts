/** Who the page acts for. */
import type { Me } from '@parley/protocol'
import { useQuery } from '@tanstack/react-query'
import { actFor } from './personal.ts'
import { server } from './server.ts'

/** The user of this page and what the server offers; an error with status 401 means that a login is needed. */
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    queryFn: async ({ signal }) => {
      const me = (await server.call('GET', '/api/me', { signal })) as Me
      actFor(me.user)
      return me
    },
    staleTime: 5 * 60_000,
  })
}
