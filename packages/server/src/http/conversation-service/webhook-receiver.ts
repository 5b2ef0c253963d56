/**
 * Receiver of webhooks of other servers. A successful answer means stored; a failure to store is answered with 5xx, so that the
 * sender retries. Source: interface.md, Webhook receiver; conversation-service.md 5; decisions.md, Receiving webhooks.
 */
import { receiveConversation, receiveEvents, WEBHOOK_VERSION } from '@parley/protocol'
import type { Receiver } from '../../conversation/index.ts'
import { describe, type Document } from '../openapi/openapi.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const SUCCESS = { success: true }

export function receiverRoutes(receiver: Receiver): Route[] {
  let document: Document | undefined
  return [
    route(receiveConversation, async ({ body }, actor) => {
      await receiver.take(body, actor)
      return { ...ok(receiveConversation, SUCCESS), about: body.id }
    }),
    route(receiveEvents, async ({ id, body }, actor) => {
      await receiver.takeEvents(id, body, actor)
      return ok(receiveEvents, SUCCESS)
    }),
    {
      method: 'GET',
      path: '/api/v1/webhooks/openapi.json',
      isOpen: true,
      answer: async () => ({
        status: 200,
        body: (document ??= describe([receiveConversation, receiveEvents], WEBHOOK_VERSION)),
      }),
    },
  ]
}
