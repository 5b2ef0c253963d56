/** The hooks that a project of the server's machine brings along. Source: agent-server-wire.md 1.6, 1.9. */
import { type HookConfig, loadHooks } from '@parley/protocol'
import { ok, route } from '../route.ts'
import type { Route } from '../web.ts'

/** What a directory's hooks file says, as far as the server trusts the directory; null otherwise. */
export type HooksOfDirectory = (user: string, directory: string, signal: AbortSignal) => Promise<HookConfig | null>

export function hookRoutes(hooksOf: HooksOfDirectory): Route[] {
  return [
    route(loadHooks, async ({ body, gone }, { user }) => {
      const directory = body.project_dir
      return ok(loadHooks, { hook_config: directory ? await hooksOf(user, directory, gone()) : null })
    }),
  ]
}
