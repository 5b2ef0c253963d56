/** The limits of users, and how much of them is used. Source: docs/quotas.md, Reading them. */
import { listQuotas, readQuotas } from '@parley/protocol'
import type { Quotas } from '../../quotas/index.ts'
import { expectAdmin } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function quotaRoutes(quotas: Pick<Quotas, 'of' | 'all'>): Route[] {
  return [
    route(readQuotas, async (_call, { user }) => ok(readQuotas, await quotas.of(user))),
    route(listQuotas, async (_call, actor) => {
      expectAdmin(actor)
      return ok(listQuotas, { items: await quotas.all() })
    }),
  ]
}
