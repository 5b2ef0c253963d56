/** What git says about directories of the server's machine. Source: agent-server-wire.md 1.9. */
import { gitChanges, gitCommitChanges, gitCommits, gitDiff } from '@parley/protocol'
import { changesOf, changesSince, fileDiff, type Hosts, newestCommits } from '../../workspace/index.ts'
import { ok, route } from '../route.ts'
import type { Route } from '../web.ts'

export function gitRoutes(hosts: Hosts, touch: () => void): Route[] {
  const workspaceOf = (user: string) => {
    touch()
    return hosts.of(user)
  }
  return [
    route(gitChanges, async ({ query, gone }, { user }) =>
      ok(gitChanges, await changesSince(await workspaceOf(user), query, gone())),
    ),
    route(gitDiff, async ({ query, gone }, { user }) =>
      ok(gitDiff, await fileDiff(await workspaceOf(user), query, gone())),
    ),
    route(gitCommits, async ({ query, gone }, { user }) =>
      ok(gitCommits, await newestCommits(await workspaceOf(user), query, gone())),
    ),
    route(gitCommitChanges, async ({ params, query, gone }, { user }) =>
      ok(gitCommitChanges, await changesOf(await workspaceOf(user), { ...query, ...params }, gone())),
    ),
  ]
}
