/** Git queries in directories of the server's machine. Source: agent-server-wire.md 1.9. */
import { gitChanges, gitCommitChanges, gitCommits, gitDiff } from '@parley/protocol'
import { changesOf, changesSince, fileDiff, type Hosts, newestCommits } from '../../workspace/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function gitRoutes(hosts: Hosts, touch: () => void): Route[] {
  const workspaceOf = (user: string) => {
    touch()
    return hosts.of(user)
  }
  return [
    route(gitChanges, async ({ query, callerSignal }, { user }) =>
      ok(gitChanges, await changesSince(await workspaceOf(user), query, callerSignal())),
    ),
    route(gitDiff, async ({ query, callerSignal }, { user }) =>
      ok(gitDiff, await fileDiff(await workspaceOf(user), query, callerSignal())),
    ),
    route(gitCommits, async ({ query, callerSignal }, { user }) =>
      ok(gitCommits, await newestCommits(await workspaceOf(user), query, callerSignal())),
    ),
    route(gitCommitChanges, async ({ params, query, callerSignal }, { user }) =>
      ok(gitCommitChanges, await changesOf(await workspaceOf(user), { ...query, ...params }, callerSignal())),
    ),
  ]
}
