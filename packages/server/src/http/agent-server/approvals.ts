/** The approvals that a user has to give. */
import { getApprovals } from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export const approvalRoutes = (conversations: Conversations): Route[] => [
  route(getApprovals, async (_, actor) => ok(getApprovals, await conversations.approvals(actor))),
]
