/** Store Settings. Source: seed: POST /api/settings; conversation-service.md 3.1. */
import { storeSettings } from '@parley/protocol'
import type { UserSettings } from '../../settings/index.ts'
import { ok, route } from '../route.ts'
import type { Route } from '../web.ts'

export function seedSettingsRoutes(settings: UserSettings): Route[] {
  return [
    route(storeSettings, async ({ body }, { user }) => {
      await settings.store(user, body)
      return ok(storeSettings, { message: 'Settings stored' })
    }),
  ]
}
