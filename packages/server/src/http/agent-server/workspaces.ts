/** Directories that a user has saved for new conversations. Source: agent-server-wire.md 1.13. */
import {
  addWorkspaceParents,
  addWorkspaces,
  deleteWorkspace,
  deleteWorkspaceParent,
  listWorkspaces,
} from '@parley/protocol'
import type { SavedWorkspaces } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function savedWorkspaceRoutes(saved: SavedWorkspaces): Route[] {
  return [
    route(listWorkspaces, async (_call, { user }) => ok(listWorkspaces, await saved.list(user))),
    route(addWorkspaces, async ({ body }, { user }) => ok(addWorkspaces, await saved.add(user, body.workspaces))),
    route(deleteWorkspace, async ({ query }, { user }) => {
      await saved.remove(user, query.path)
      return ok(deleteWorkspace, { deleted: true })
    }),
    route(addWorkspaceParents, async ({ body }, { user }) =>
      ok(addWorkspaceParents, await saved.addParents(user, body.parents)),
    ),
    route(deleteWorkspaceParent, async ({ query }, { user }) => {
      await saved.removeParent(user, query.path)
      return ok(deleteWorkspaceParent, { deleted: true })
    }),
  ]
}
