/** The endpoint row that reads the hooks of a project. Source: agent-server-wire.md 1.6. */
import { z } from 'zod'
import { HookConfig } from '../hooks.ts'
import { endpoint } from './endpoint.ts'

export const loadHooks = endpoint({
  operationId: 'loadHooks',
  tag: 'Hooks',
  auth: 'session_key',
  method: 'POST',
  path: '/api/hooks',
  description: 'Returns the hooks of a project, if the server trusts the project.',
  /** Directory of the project on the server's machine. */
  body: z.object({ project_dir: z.string().nullable().default(null) }),
  ok: {
    status: 200,
    schema: z.object({ hook_config: HookConfig.nullable() }),
    description: 'Null without a readable file, and for a project that trusted_hooks does not list',
  },
  errors: [],
})
