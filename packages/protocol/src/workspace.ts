/** Location of a conversation's commands and files. Source: interface.md, Workspace variants. */
import { z } from 'zod'
import { laxInt, laxNumber } from './lax.ts'
import { kindUnion } from './unions.ts'

export const LocalWorkspace = z.object({
  kind: z.literal('LocalWorkspace').default('LocalWorkspace'),
  working_dir: z.string(),
})
export type LocalWorkspace = z.infer<typeof LocalWorkspace>

export const RemoteWorkspace = z.object({
  kind: z.literal('RemoteWorkspace').default('RemoteWorkspace'),
  working_dir: z.string(),
  /** URL of an agent server. */
  host: z.string(),
  api_key: z.string().nullable().default(null),
  /** Seconds. */
  read_timeout: laxNumber().default(600),
  /** Null: no limit. */
  max_connections: laxInt().nullable().default(null),
})
export type RemoteWorkspace = z.infer<typeof RemoteWorkspace>

/** `kind` may be omitted, as in the conversation service: only a RemoteWorkspace has a host. */
export const BaseWorkspace = kindUnion('BaseWorkspace', { LocalWorkspace, RemoteWorkspace }, (value) =>
  'host' in value ? 'RemoteWorkspace' : 'LocalWorkspace',
)
export type BaseWorkspace = z.infer<typeof BaseWorkspace>
export type BaseWorkspaceInput = z.input<typeof BaseWorkspace>
