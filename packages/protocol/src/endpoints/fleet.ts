/** Endpoint row of the nodes that share a store, for administrators. Source: docs/operations.md, Several nodes. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const FleetNode = z.object({
  /** Number of this run of the process, which no other run has. */
  node: z.number(),
  /** Address at which other nodes reach it; empty: none. */
  url: z.string(),
  version: z.string(),
  /** Ids of the data directories whose local workspaces it can use. */
  places: z.array(z.string()),
  started_at: z.string(),
  /** Null while it accepts work. */
  draining_at: z.string().nullable(),
  /** True for the node that answers. */
  is_this: z.boolean(),
  /** Conversations that run on it, or wait for a run slot. */
  running: z.number(),
})
export type FleetNode = z.infer<typeof FleetNode>

export const Fleet = z.object({
  /** False: the server is the only one of its store. */
  is_shared: z.boolean(),
  /** Those that are alive, oldest first. */
  nodes: z.array(FleetNode),
  /** Conversations that should run and have no live node. */
  orphans: z.number(),
  /** `sender`: the node that sends to the target; null: none at the moment. */
  webhook_targets: z.array(z.object({ target: z.string(), sender: z.number().nullable() })),
  store: z.object({
    engine: z.enum(['sqlite', 'postgresql']),
    version: z.string(),
    /** True when commits wait for a standby; null: the engine has none. */
    synchronous_standby: z.boolean().nullable(),
  }),
})
export type Fleet = z.infer<typeof Fleet>

export const readFleet = endpoint({
  operationId: 'readFleet',
  tag: 'Server details',
  auth: 'session_key',
  method: 'GET',
  path: '/api/fleet',
  description: 'Returns the nodes that share the store, and what runs on them; for administrators.',
  ok: { status: 200, schema: Fleet, description: 'The nodes that are alive' },
  errors: [403, 503],
})
