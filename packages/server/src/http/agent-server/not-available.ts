/** Operations whose part this server does not have: answers that clients show. Source: agent-server-wire.md 1.13. */
import {
  endSubscription,
  getDesktopUrl,
  getInit,
  getSubscriptionStatus,
  getVscodeStatus,
  getVscodeUrl,
  listSubscriptionModels,
  ParleyError,
  pollSubscriptionLogin,
  postInit,
  putCredentialBinding,
  startSubscriptionLogin,
} from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { detail } from '../core/errors.ts'
import { ok, openRoute, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const NO_EDITOR = 'VS Code is not available: this server does not include it.'
const NO_DESKTOP = 'A desktop is not available: this server does not include one.'
const NOT_CONNECTED = { vendor: 'openai', connected: false, account_email: null, expires_at: null }

export function notAvailableRoutes(conversations: Pick<Conversations, 'info'>): Route[] {
  return [
    route(getVscodeStatus, async () => ok(getVscodeStatus, { running: false, enabled: false, message: NO_EDITOR })),
    route(getVscodeUrl, async () => ok(getVscodeUrl, { url: null, message: NO_EDITOR })),
    route(getDesktopUrl, async () => ok(getDesktopUrl, { url: null, message: NO_DESKTOP })),
    route(listSubscriptionModels, async () => ok(listSubscriptionModels, { vendor: 'openai', models: [] })),
    route(getSubscriptionStatus, async () => ok(getSubscriptionStatus, NOT_CONNECTED)),
    route(startSubscriptionLogin, async () => {
      throw new ParleyError('bad_request', 'Logins by subscription are not supported. Use an API key of the provider.')
    }),
    route(pollSubscriptionLogin, async () => detail(404, 'This device code is not known: no login has begun.')),
    route(endSubscription, async () => ok(endSubscription, NOT_CONNECTED)),
    openRoute(getInit, async () => NOT_DEFERRED),
    openRoute(postInit, async () => NOT_DEFERRED),
    route(putCredentialBinding, async ({ id }, actor) => {
      await conversations.info(id, actor)
      throw new ParleyError(
        'unsupported',
        'Credential bindings are not supported. Set the secret with POST /api/conversations/{conversation_id}/secrets; a LookupSecret reads its value from an address.',
      )
    }),
  ]
}

const NOT_DEFERRED = detail(404, 'This server is configured when it starts. It takes no configuration afterwards.')
