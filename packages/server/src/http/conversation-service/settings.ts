/** Store Settings. Source: interface.md, Store Settings; conversation-service.md 3.1. */
import { storeSettings } from '@parley/protocol'
import type { UserSettings } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function conversationServiceSettingsRoutes(settings: UserSettings): Route[] {
  return [
    route(storeSettings, async ({ body }, { user }) => {
      await settings.store(user, body)
      return ok(storeSettings, { message: 'Settings stored' })
    }),
  ]
}
