/** Usage of models by one conversation. */
import { getConversationUsage } from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function usageRoutes(conversations: Conversations): Route[] {
  return [
    route(
      getConversationUsage,
      async ({ id, query: { before_seq, limit } }, actor) => {
        const page = { limit, ...(before_seq !== undefined && { before: before_seq }) }
        return ok(getConversationUsage, await conversations.usage(id, page, actor))
      },
      'with_id',
    ),
  ]
}
