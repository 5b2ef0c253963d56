/** Webhook deliveries for administrators: pending and parked ones, and redelivery. */
import { listDeliveries, ParleyError, redeliver, type WebhookDelivery } from '@parley/protocol'
import type { Delivery, OutboxStore } from '../../storage/index.ts'
import { expectAdmin } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type Deliveries = Pick<OutboxStore, 'list' | 'redeliver'>

export function deliveryRoutes(deliveries: Deliveries): Route[] {
  return [
    route(listDeliveries, async ({ query: { status, limit, after } }, actor) => {
      expectAdmin(actor)
      const { items, next } = await deliveries.list({ limit, ...(status && { status }), ...(after && { after }) })
      return ok(listDeliveries, { items: items.map(shown), next_after: next })
    }),
    route(redeliver, async ({ params: { delivery_id } }, actor) => {
      expectAdmin(actor)
      switch (await deliveries.redeliver(delivery_id)) {
        case 'unknown':
          throw new ParleyError(
            'not_found',
            `No delivery has the id ${delivery_id}. List them with GET /api/webhooks/deliveries.`,
          )
        case 'pending':
          throw new ParleyError('conflict', `Delivery ${delivery_id} is under way.`)
        case 'gone':
          throw new ParleyError(
            'conflict',
            `Delivery ${delivery_id} cannot be sent again: its target or its content is no more.`,
          )
        case 'queued':
          return ok(redeliver, { success: true })
      }
    }),
  ]
}

function shown({ topic: event, ...delivery }: Delivery): WebhookDelivery {
  const { id, target, conversation_id, kind, ...rest } = delivery
  return { id, target, conversation_id, kind, event, ...rest }
}
