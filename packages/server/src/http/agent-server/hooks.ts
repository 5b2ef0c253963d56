/** The hooks of a project on the server's machine. Source: agent-server-wire.md 1.6, 1.9. */
import { type HookConfig, loadHooks } from '@parley/protocol'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** The hooks file of a directory; null for a directory that the server does not trust. */
export type HooksOfDirectory = (user: string, directory: string, signal: AbortSignal) => Promise<HookConfig | null>

export function hookRoutes(hooksOf: HooksOfDirectory): Route[] {
  return [
    route(loadHooks, async ({ body, callerSignal }, { user }) => {
      const directory = body.project_dir
      return ok(loadHooks, { hook_config: directory ? await hooksOf(user, directory, callerSignal()) : null })
    }),
  ]
}
