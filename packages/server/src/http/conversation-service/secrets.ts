/** Custom secrets. No answer contains a value. Source: interface.md, Custom secret records; conversation-service.md 4.1. */
import { createSecret, deleteSecret, listSecrets, updateSecret } from '@parley/protocol'
import type { NamedSecrets } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const NOT_MASKED =
  'The value is short or a common word: it cannot be hidden in output without hiding ordinary text, so it will be readable there.'

export function conversationServiceSecretRoutes(secrets: NamedSecrets): Route[] {
  return [
    route(listSecrets, async (_call, { user }) => ok(listSecrets, { custom_secrets: await secrets.list(user) })),
    route(createSecret, async ({ body }, { user }) => {
      const { isMasked } = await secrets.create(user, body)
      const message = 'Secret created successfully'
      return ok(createSecret, isMasked ? { message } : { message, warning: NOT_MASKED })
    }),
    route(updateSecret, async ({ params, body }, { user }) => {
      await secrets.update(user, params.secret_id, body)
      return ok(updateSecret, { message: 'Secret updated successfully' })
    }),
    route(deleteSecret, async ({ params }, { user }) => {
      await secrets.delete(user, params.secret_id)
      return ok(deleteSecret, { message: 'Secret deleted successfully' })
    }),
  ]
}
