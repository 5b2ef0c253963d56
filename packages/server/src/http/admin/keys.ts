/** Issuing, listing, rotating and revoking keys, for administrators. Source: decisions.md, Identity. */
import {
  createKey,
  type Endpoint,
  type IssuedKey,
  type KeyInfo,
  listKeys,
  revokeKey,
  rotateKey,
} from '@parley/protocol'
import type { Identities } from '../../settings/index.ts'
import { expectAdmin } from '../core/auth.ts'
import type { Answer } from '../core/errors.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type Keys = Pick<Identities, 'create' | 'list' | 'revoke' | 'rotate'>
type Row = Awaited<ReturnType<Keys['list']>>[number]

/** @param onRevoked called with the id of a revoked key, to close its connections */
export function keyRoutes(keys: Keys, onRevoked: (keyId: string) => void): Route[] {
  return [
    route(listKeys, async (_call, actor) => {
      expectAdmin(actor)
      return ok(listKeys, { items: (await keys.list()).map(shown) })
    }),
    route(createKey, async ({ body: { user, role, label, expires_at } }, actor) => {
      expectAdmin(actor)
      // A time without a zone is UTC.
      const expiresAt = expires_at === null ? null : new Date(expires_at.endsWith('Z') ? expires_at : `${expires_at}Z`)
      return made(createKey, await keys.create({ user, role, label, expiresAt }))
    }),
    route(rotateKey, async ({ params: { key_id } }, actor) => {
      expectAdmin(actor)
      return made(rotateKey, await keys.rotate(key_id))
    }),
    route(revokeKey, async ({ params: { key_id } }, actor) => {
      expectAdmin(actor)
      await keys.revoke(key_id)
      onRevoked(key_id)
      const row = (await keys.list()).find(({ id }) => id === key_id)
      return { ...ok(revokeKey, { success: true }), ...(row && { audit: aboutKey(row) }) }
    }),
  ]
}

const made = (row: Endpoint, key: { key: string; row: Row }): Answer => ({
  ...ok(row, issued(key)),
  audit: aboutKey(key.row),
})

const aboutKey = ({ id, user, role }: Row) => ({ subject: user, detail: `key ${id}, role ${role}` })

const issued = ({ key, row }: { key: string; row: Row }): IssuedKey => ({ ...shown(row), key })

/** Without the hash, which no caller needs. */
const shown = ({ id, user, role, label, created_at, expires_at, revoked_at }: Row): KeyInfo => ({
  id,
  user,
  role,
  label,
  created_at,
  expires_at,
  revoked_at,
})
