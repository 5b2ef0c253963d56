/** Listing, disabling, enabling and deleting users, for administrators. Source: decisions.md, Identity. */
import { deleteUser, disableUser, type Endpoint, enableUser, listUsers, ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Identities, UserLifecycle } from '../../settings/index.ts'
import { expectAdmin } from '../core/auth.ts'
import type { Answer } from '../core/errors.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type Users = Pick<UserLifecycle, 'list' | 'disable' | 'enable' | 'delete' | 'ended'>

/** @param onRefused called with the id of a key that is refused from now on, to close its connections */
export function userRoutes(users: Users, keys: Pick<Identities, 'list'>, onRefused: (keyId: string) => void): Route[] {
  const closeAll = async (user: string): Promise<void> => {
    for (const key of await keys.list()) if (key.user === user) onRefused(key.id)
  }
  return [
    route(listUsers, async (_call, actor) => {
      expectAdmin(actor)
      return ok(listUsers, { items: await users.list() })
    }),
    route(disableUser, async ({ params: { user } }, actor) => {
      expectOther(actor, user)
      await users.disable(user)
      await closeAll(user)
      await users.ended(user)
      return done(disableUser, user)
    }),
    route(enableUser, async ({ params: { user } }, actor) => {
      expectAdmin(actor)
      await users.enable(user)
      return done(enableUser, user)
    }),
    route(deleteUser, async ({ params: { user } }, actor) => {
      expectOther(actor, user)
      const refused = (await keys.list()).filter((key) => key.user === user)
      await users.delete(user)
      for (const { id } of refused) onRefused(id)
      return done(deleteUser, user)
    }),
  ]
}

const done = (row: Endpoint, user: string): Answer => ({ ...ok(row, { success: true }), audit: { subject: user } })

/** @throws ParleyError `forbidden` without the role; `conflict` for the user of the request, whose answer would be its last. */
function expectOther(actor: Actor, user: string): void {
  expectAdmin(actor)
  if (actor.user === user)
    throw new ParleyError('conflict', `User ${user} is the user of this key. Use a key of another administrator.`)
}
