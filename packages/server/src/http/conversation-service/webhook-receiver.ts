/**
 * Receiver of webhooks of other servers. A successful answer means stored; a failure to store is answered with 5xx, so that the
 * sender retries. Source: interface.md, Webhook receiver; conversation-service.md 5; decisions.md, Receiving webhooks.
 */
import { type Endpoint, receiveConversation, receiveEvents, WEBHOOK_VERSION } from '@parley/protocol'
import type { Receiver } from '../../conversation/index.ts'
import { signatureFault } from '../../lib/index.ts'
import { unsignedWebhook } from '../core/errors.ts'
import { describe, type Document } from '../openapi/openapi.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const SUCCESS = { success: true }

export type ReceiverDeps = {
  /** Signing secrets of the senders; none: deliveries need no signature, only a key. */
  secrets: readonly string[]
  /** The largest body of a row on this server, in bytes. */
  limitOf: (row: Endpoint) => number
}

export function receiverRoutes(receiver: Receiver, { secrets, limitOf }: ReceiverDeps): Route[] {
  let document: Document | undefined
  const deliveries = [
    route(receiveConversation, async ({ body }, actor) => {
      await receiver.take(body, actor)
      return { ...ok(receiveConversation, SUCCESS), about: body.id }
    }),
    route(receiveEvents, async ({ id, body }, actor) => {
      await receiver.takeEvents(id, body, actor)
      return ok(receiveEvents, SUCCESS)
    }),
  ]
  return [
    ...deliveries.map((delivery) => signed(delivery, secrets)),
    {
      method: 'GET',
      path: '/api/v1/webhooks/openapi.json',
      isOpen: true,
      answer: async () => ({
        status: 200,
        body: (document ??= describe([receiveConversation, receiveEvents], WEBHOOK_VERSION, limitOf)),
      }),
    },
  ]
}

/** The route for keys of the role `webhook` too, which verifies the signature of the body before it is read. */
function signed(delivery: Route, secrets: readonly string[]): Route {
  return {
    ...delivery,
    takesWebhooks: true,
    answer: async (request) => {
      const { headers, body = Buffer.alloc(0) } = request
      const fault = secrets.length === 0 ? null : signatureFault(headers, body, secrets, Date.now())
      return fault === null ? delivery.answer(request) : unsignedWebhook(fault)
    },
  }
}
