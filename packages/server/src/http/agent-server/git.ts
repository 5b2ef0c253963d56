/** Git queries in directories of the server's machine. Source: agent-server-wire.md 1.9. */
import { gitChanges, gitCommitChanges, gitCommits, gitDiff, gitPatch } from '@parley/protocol'
import { changesOf, changesSince, fileDiff, type Hosts, newestCommits, patchOf } from '../../workspace/index.ts'
import type { Actor } from '../../conversation/index.ts'
import { expectWriter } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function gitRoutes(hosts: Hosts, touch: () => void): Route[] {
  const workspaceOf = (actor: Actor) => {
    expectWriter(actor)
    touch()
    return hosts.of(actor.user)
  }
  return [
    route(gitChanges, async ({ query, callerSignal }, actor) =>
      ok(gitChanges, await changesSince(await workspaceOf(actor), query, callerSignal())),
    ),
    route(gitDiff, async ({ query, callerSignal }, actor) =>
      ok(gitDiff, await fileDiff(await workspaceOf(actor), query, callerSignal())),
    ),
    route(gitPatch, async ({ query, callerSignal }, actor) =>
      ok(gitPatch, await patchOf(await workspaceOf(actor), query, callerSignal())),
    ),
    route(gitCommits, async ({ query, callerSignal }, actor) =>
      ok(gitCommits, await newestCommits(await workspaceOf(actor), query, callerSignal())),
    ),
    route(gitCommitChanges, async ({ params, query, callerSignal }, actor) =>
      ok(gitCommitChanges, await changesOf(await workspaceOf(actor), { ...query, ...params }, callerSignal())),
    ),
  ]
}
