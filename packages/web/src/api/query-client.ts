/** The cache of lists and settings. Events of a conversation are a log of their own and never in it. */
import { QueryClient } from '@tanstack/react-query'
import { ServerError } from './errors.ts'

/** A refusal stays one; a missing answer is asked for again. */
const mayRetry = (failures: number, error: Error): boolean =>
  failures < 3 && error instanceof ServerError && (error.isOffline || error.status >= 500)

export const makeQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: { staleTime: 2_000, retry: mayRetry, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  })
