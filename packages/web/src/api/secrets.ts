/** Secrets of the user. No answer of the server has a value. */
import { useQuery } from '@tanstack/react-query'
import { get } from './queries.ts'
import { server } from './server.ts'

export type Secret = { readonly name: string; readonly description: string | null }

export const SECRETS_KEY = ['secrets'] as const

/** Names and descriptions, sorted by name. */
export function useSecrets() {
  return useQuery({
    queryKey: SECRETS_KEY,
    queryFn: async ({ signal }) => (await get<{ custom_secrets: Secret[] }>('/api/secrets', signal)).custom_secrets,
  })
}

const at = (name: string): string => `/api/secrets/${encodeURIComponent(name)}`

/**
 * Creates a secret. Resolves to a warning about its value, or to null.
 * @throws ServerError with status 409 for a taken name, with 422 for a name or value that does not fit
 */
export async function createSecret(secret: Secret & { readonly value: string }): Promise<string | null> {
  const answer = (await server.call('POST', '/api/secrets', { body: secret })) as { warning?: string }
  return answer.warning ?? null
}

/** Changes name and description, and the value unless it is null. @throws ServerError as `createSecret` does. */
export async function changeSecret(name: string, to: Secret, value: string | null): Promise<void> {
  await server.call('PUT', at(name), { body: { name: to.name, description: to.description } })
  if (value !== null) await server.call('PUT', '/api/settings/secrets', { body: { name: to.name, value } })
}

export async function deleteSecret(name: string): Promise<void> {
  await server.call('DELETE', at(name))
}
