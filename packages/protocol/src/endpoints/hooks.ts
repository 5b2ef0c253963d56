/** The row that reads a project's hooks. Source: agent-server-wire.md 1.6. */
import { z } from 'zod'
import { HookConfig } from '../hooks.ts'
import { endpoint } from './endpoint.ts'

export const loadHooks = endpoint({
  tag: 'Hooks',
  auth: 'session_key',
  method: 'POST',
  path: '/api/hooks',
  summary: 'The hooks that a project brings along, if the server trusts it',
  /** Directory of the project on the server's machine. */
  body: z.object({ project_dir: z.string().nullable().default(null) }),
  ok: {
    status: 200,
    schema: z.object({ hook_config: HookConfig.nullable() }),
    description: 'Null without a file that can be read, and for a project that is not among trusted_hooks',
  },
  errors: [],
})

export const hookRows = [loadHooks] as const
