/** The record of who changed what, for administrators. Source: decisions.md, Identity. */
import { type AuditItem, readAudit } from '@parley/protocol'
import type { AuditLog } from '../../storage/index.ts'
import { expectAdmin } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function auditRoutes(audit: AuditLog): Route[] {
  return [
    route(readAudit, async ({ query: { user, limit, after } }, actor) => {
      expectAdmin(actor)
      const query = { limit, ...(user !== undefined && { user }), ...(after !== undefined && { after }) }
      const { items, next } = await audit.list(query)
      return ok(readAudit, { items: items satisfies AuditItem[], next_after: next })
    }),
  ]
}
