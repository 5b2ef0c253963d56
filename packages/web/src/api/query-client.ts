/** The cache of lists and settings. Events of a conversation are a log of their own and never in it. */
import { QueryClient } from '@tanstack/react-query'
import { connection, onConnectionChange } from './connection.ts'
import { ServerError } from './errors.ts'
import { onSessionChange } from './session.ts'
import { server } from './server.ts'

/** A refusal stays one; a missing answer is asked for again when the server is back. */
const mayRetry = (failures: number, error: Error): boolean =>
  failures < 2 && error instanceof ServerError && error.status >= 500

export function makeQueryClient(): QueryClient {
  // A server on this machine answers without a network.
  const networkMode = 'always'
  const client = new QueryClient({
    defaultOptions: {
      queries: { staleTime: 2_000, retry: mayRetry, networkMode },
      mutations: { retry: false, networkMode },
    },
  })
  onConnectionChange(() => {
    if (connection().downSince === null) void client.invalidateQueries()
  })
  // Nothing of the user before stays.
  onSessionChange(() => void client.resetQueries())
  server.whenRefused(() => void client.invalidateQueries({ queryKey: ['me'] }))
  return client
}
