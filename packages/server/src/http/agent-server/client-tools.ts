/** Results of tools that the client executes. Source: agent-core.md 8.13. */
import { asEventId, postClientToolResult, textContent } from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function clientToolRoutes(conversations: Conversations): Route[] {
  return [
    route(
      postClientToolResult,
      async ({ id, params, body: { content, is_error } }, actor) => {
        const parts = typeof content === 'string' ? [textContent(content)] : content
        const action_id = asEventId(params.event_id)
        await conversations.send(id, { kind: 'client_result', action_id, result: { content: parts, is_error } }, actor)
        return ok(postClientToolResult, { success: true })
      },
      'with_id',
    ),
  ]
}
