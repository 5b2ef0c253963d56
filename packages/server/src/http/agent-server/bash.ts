/** Commands outside a conversation. Source: agent-server-wire.md 1.7. */
import {
  batchGetBashEvents,
  clearBashEvents,
  executeBashCommand,
  getBashEvent,
  ParleyError,
  searchBashEvents,
  startBashCommand,
} from '@parley/protocol'
import type { Bash } from '../../workspace/index.ts'
import { expectWriter } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function bashRoutes(bash: Bash, touch: () => void): Route[] {
  return [
    route(startBashCommand, async ({ body }, { user }) => {
      touch()
      return ok(startBashCommand, await bash.start(user, body))
    }),
    route(executeBashCommand, async ({ body, callerSignal }, { user }) => {
      touch()
      return ok(executeBashCommand, await bash.execute(user, body, callerSignal()))
    }),
    route(searchBashEvents, async ({ query }, actor) => {
      expectWriter(actor)
      const { user } = actor
      const { items, next } = await bash.search(user, {
        order: query.sort_order === 'TIMESTAMP' ? 'asc' : 'desc',
        limit: query.limit,
        ...(query.kind__eq !== undefined && { kind: query.kind__eq }),
        ...(query.command_id__eq !== undefined && { command_id: bare(query.command_id__eq) }),
        ...(query.timestamp__gte !== undefined && { timestampGte: query.timestamp__gte }),
        ...(query.timestamp__lt !== undefined && { timestampLt: query.timestamp__lt }),
        ...(query.order__gt !== undefined && { orderGt: query.order__gt }),
        ...(query.page_id !== undefined && { from: bare(query.page_id) }),
      })
      return ok(searchBashEvents, { items, next_page_id: next })
    }),
    route(batchGetBashEvents, async ({ body }, actor) => {
      expectWriter(actor)
      return ok(batchGetBashEvents, await Promise.all(body.map((id) => bash.get(actor.user, bare(id)))))
    }),
    route(getBashEvent, async ({ params }, actor) => {
      expectWriter(actor)
      const event = await bash.get(actor.user, bare(params.event_id))
      if (event === null) throw new ParleyError('not_found', 'Not Found')
      return ok(getBashEvent, event)
    }),
    route(clearBashEvents, async (_call, { user }) => ok(clearBashEvents, { cleared_count: await bash.clear(user) })),
  ]
}

/** Ids are 32 hex digits; clients may write them with dashes. Source: agent-server-wire.md 0.3. */
const bare = (id: string): string => id.replaceAll('-', '').toLowerCase()
