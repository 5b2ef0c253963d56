/** Logins of browsers: sessions, the codes that open them, and who a request is from. Source: docs/keys.md, Login sessions. */
import type { IncomingHttpHeaders } from 'node:http'
import {
  createLoginCode,
  endCurrentLoginSession,
  endLoginSession,
  listLoginSessions,
  type LoginSession,
  type Me,
  openLoginSession,
  type OpenedLoginSession,
  ParleyError,
  readMe,
} from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Logins, OpenedLogin } from '../../settings/index.ts'
import type { LoginSessionRow } from '../../storage/index.ts'
import { presentedKey } from '../core/auth.ts'
import { type Answer, detail, FOREIGN_LOGIN, UNAUTHORIZED } from '../core/errors.ts'
import type { Guesses, RequestBudgets } from '../core/rate-limits.ts'
import { ok, openRoute, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type LoginDeps = {
  logins: Logins
  /** The limit for wrong keys, under which wrong codes count. */
  guesses: Guesses
  /** Of keys. The routes that need one count by themselves. */
  budgets: Pick<RequestBudgets, 'spend'>
  /** False for a page that may not read answers. */
  isOurPage: (headers: IncomingHttpHeaders) => boolean
  /** Called with the id of the key of a session that has ended, to close its connections. */
  onEnded: (keyId: string) => void
  isWithoutKeys: boolean
  /** What `GET /api/me` lists. */
  features: readonly string[]
  /** True when new conversations of the user have a model that can be requested. */
  hasModel: (user: string) => Promise<boolean>
}

export function loginRoutes(deps: LoginDeps): Route[] {
  const { logins, isWithoutKeys, onEnded } = deps
  const end = async (actor: Actor, { id, key_hash }: LoginSessionRow): Promise<Answer> => {
    const key = await logins.byHash(key_hash)
    await logins.end(actor, id)
    if (key !== null) onEnded(key.keyId)
    return { status: 204, audit: { subject: actor.user, detail: `login session ${id}` } }
  }
  return [
    {
      ...openRoute(openLoginSession, (call, actor) => opened(call, actor, deps)),
      isOpenWithActor: true,
      forReaders: true,
    },
    route(listLoginSessions, async (_call, actor) =>
      ok(listLoginSessions, isWithoutKeys ? [] : (await logins.list(actor)).map(shown)),
    ),
    {
      ...route(endCurrentLoginSession, async ({ headers }, actor) => {
        const session = await sessionOf(headers, deps)
        if (session === null)
          throw new ParleyError('not_found', 'The request carries a key and no login session. Delete one by its id.')
        return end(actor, session)
      }),
      forReaders: true,
    },
    {
      ...route(endLoginSession, async ({ params: { session_id: id } }, actor) => {
        const session = isWithoutKeys ? undefined : (await logins.list(actor)).find((one) => one.id === id)
        if (session === undefined) throw new ParleyError('not_found', `No login session has the id ${id}.`)
        return end(actor, session)
      }),
      forReaders: true,
    },
    {
      ...route(createLoginCode, async ({ headers }, actor) => {
        if (isWithoutKeys) throw NO_LOGIN
        const code = await logins.makeCode(presentedKey(headers) ?? '')
        return { ...ok(createLoginCode, code), audit: { subject: actor.user, detail: 'login code' } }
      }),
      forReaders: true,
    },
    route(readMe, async ({ headers }, actor) => ok(readMe, await me(headers, actor, deps))),
  ]
}

const NO_LOGIN = new ParleyError(
  'conflict',
  'This server runs without keys and answers every request. There is no login.',
)

/** The key is already checked; a code is checked here, because it is in the body. */
async function opened(
  { headers, address, body }: { headers: IncomingHttpHeaders; address: string | undefined; body: Body },
  actor: Actor | null,
  { logins, guesses, budgets, isOurPage, isWithoutKeys }: LoginDeps,
): Promise<Answer> {
  if (isWithoutKeys) throw NO_LOGIN
  if (!isOurPage(headers)) return FOREIGN_LOGIN
  const { code, label } = body
  if (code === undefined) {
    const key = presentedKey(headers)
    if (actor === null || key === undefined) return UNAUTHORIZED
    return budgets.spend(actor).refusal ?? answerOf(await logins.open(key, label), 'a key')
  }
  const refusal = guesses.refusalOf(code, address)
  if (refusal !== null) return refusal
  const login = await logins.redeem(code, label)
  if (login !== null) return answerOf(login, 'a login code')
  guesses.wasWrong(code, address)
  return WRONG_CODE
}

type Body = { code?: string | undefined; label: string | null }

const WRONG_CODE = detail(
  401,
  'The login code is not valid: it works once, within ten minutes. Get another link with: parley open',
)

/** The entry of the audit names the key; the request itself may have carried none. */
const answerOf = ({ token, session, identity }: OpenedLogin, by: string): Answer => ({
  ...ok(openLoginSession, { token, session: shown(session) } satisfies OpenedLoginSession),
  audit: { subject: identity.user, detail: `login session ${session.id} by ${by}`, actor: identity },
})

const shown = ({ id, label, created_at, last_used_at, expires_at }: LoginSessionRow): LoginSession => ({
  id,
  label,
  created_at,
  last_used_at,
  expires_at,
})

async function sessionOf(headers: IncomingHttpHeaders, { logins, isWithoutKeys }: LoginDeps) {
  const text = presentedKey(headers)
  return isWithoutKeys || text === undefined ? null : logins.sessionOf(text)
}

async function me(headers: IncomingHttpHeaders, { user, role, keyId }: Actor, deps: LoginDeps): Promise<Me> {
  const { logins, isWithoutKeys, features, hasModel } = deps
  const session = await sessionOf(headers, deps)
  const row = isWithoutKeys ? null : await logins.keyOf(presentedKey(headers) ?? '')
  return {
    user,
    role,
    key: isWithoutKeys ? null : { id: keyId, label: row?.label ?? null, expires_at: row?.expires_at ?? null },
    session: session === null ? null : shown(session),
    without_keys: isWithoutKeys,
    features: [...features],
    has_model: await hasModel(user),
  }
}
