/** Settings and stored secrets in the agent-server API. Source: agent-server-wire.md 1.10 and 8.1. */
import type { IncomingHttpHeaders } from 'node:http'
import {
  addMcpServer,
  agentSettingsSchema,
  conversationSettingsSchema,
  deleteStoredSecret,
  listStoredSecrets,
  ParleyError,
  patchMcpServer,
  patchSettings,
  putStoredSecret,
  readSettings,
  readStoredSecret,
  removeMcpServer,
} from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import {
  agentForm,
  conversationForm,
  expectSecretName,
  type Exposure,
  type NamedSecrets,
  type UserSettings,
} from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function settingsRoutes(settings: UserSettings, log: Pick<Log, 'warn'>): Route[] {
  return [
    route(readSettings, async ({ headers }, actor) => {
      const exposure = exposureOf(headers, actor)
      if (exposure === 'plain')
        log.warn({ user: actor.user, key_id: actor.keyId }, 'settings returned with secrets in clear text')
      return ok(readSettings, await settings.read(actor.user, exposure))
    }),
    route(patchSettings, async ({ body }, { user }) => ok(patchSettings, await settings.patch(user, body))),
    route(agentSettingsSchema, async () => ok(agentSettingsSchema, agentForm())),
    route(conversationSettingsSchema, async () => ok(conversationSettingsSchema, conversationForm())),
    route(addMcpServer, async ({ params, body }, { user }) =>
      ok(addMcpServer, await settings.addMcpServer(user, params.settings_key, body)),
    ),
    route(patchMcpServer, async ({ params, body }, { user }) =>
      ok(patchMcpServer, await settings.patchMcpServer(user, params.settings_key, body)),
    ),
    route(removeMcpServer, async ({ params }, { user }) =>
      ok(removeMcpServer, await settings.removeMcpServer(user, params.settings_key)),
    ),
  ]
}

export function storedSecretRoutes(secrets: NamedSecrets): Route[] {
  return [
    route(listStoredSecrets, async (_call, { user }) => ok(listStoredSecrets, { secrets: await secrets.list(user) })),
    route(putStoredSecret, async ({ body }, { user }) => ok(putStoredSecret, await secrets.put(user, body))),
    route(readStoredSecret, async ({ params }, actor) => {
      // A look-up by a conversation on another server uses a key that may run commands.
      if (actor.role === 'read-only') throw new ParleyError('forbidden', 'This key may not read the values of secrets.')
      return ok(readStoredSecret, await secrets.value(actor.user, params.name).catch(inOtherWords))
    }),
    route(deleteStoredSecret, async ({ params }, { user }) => {
      expectSecretName(params.name)
      await secrets.delete(user, params.name).catch(inOtherWords)
      return ok(deleteStoredSecret, { deleted: true })
    }),
  ]
}

/** The error for an unknown name in this API; the conversation service API has its own. */
function inOtherWords(error: unknown): never {
  if (error instanceof ParleyError && error.code === 'not_found') throw new ParleyError('not_found', 'Secret not found')
  throw error
}

/**
 * The form in which the caller requests the secrets of an answer.
 * @throws ParleyError `bad_request` for an unknown word, `forbidden` for tokens and clear text without the role.
 */
export function exposureOf(headers: IncomingHttpHeaders, { role }: Actor): Exposure {
  switch (headers['x-expose-secrets']) {
    case undefined:
      return 'hidden'
    case 'encrypted':
    case 'true':
      // With a token and a key that may write, its holder can send the value anywhere.
      if (role !== 'read-only') return 'encrypted'
      throw new ParleyError('forbidden', 'This key may not read secrets, encrypted or not. Leave X-Expose-Secrets out.')
    case 'plaintext':
      if (role === 'admin') return 'plain'
      throw new ParleyError(
        'forbidden',
        role === 'read-only'
          ? 'This key may not read secrets, encrypted or not. Leave X-Expose-Secrets out.'
          : 'Only a key with the role "admin" may read secrets in clear text. Ask for "encrypted" instead.',
      )
    default:
      throw new ParleyError('bad_request', 'X-Expose-Secrets is one of encrypted, plaintext and true.')
  }
}
