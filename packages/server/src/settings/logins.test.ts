import { expect, test } from 'vitest'
import { openChosenStore } from '../../testing/store-choice.ts'
import { tempDir } from '../../testing/temp.ts'
import { openIdentities } from './identity.ts'
import { openLogins } from './logins.ts'
import { newUserIn } from './new-user.ts'

const HOUR = 3600_000
const DAY = 24 * HOUR
const ENVIRONMENT_KEY = 'ps_a-key-of-the-environment'

/** Logins on a real store, with a clock that tests move. */
async function opened() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const storage = stack.use(await openChosenStore(dir.path))
  let ms = Date.UTC(2026, 0, 1)
  const now = () => new Date(ms)
  const identities = openIdentities(storage.keys, [ENVIRONMENT_KEY], now, newUserIn('shared'))
  const logins = openLogins(storage.logins, identities, now)
  const key = async (user: string, role: 'user' | 'read-only' = 'user', expiresAt: Date | null = null) =>
    (await identities.create({ user, role, label: null, expiresAt })).key
  const owned = stack.move()
  return {
    logins,
    identities,
    key,
    later: (byMs: number) => (ms += byMs),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('a session ends 30 days after its last use, which is recorded at most once an hour', async () => {
  await using place = await opened()
  const { logins, later } = place
  const { token, session } = await logins.open(await place.key('ann'), null)
  later(HOUR - 1)
  expect(await logins.authenticate(token)).toMatchObject({ user: 'ann', role: 'user' })
  expect((await logins.sessionOf(token))!.last_used_at).toBe(session.last_used_at)
  later(29 * DAY)
  await logins.authenticate(token)
  await expect.poll(async () => (await logins.sessionOf(token))?.last_used_at).not.toBe(session.last_used_at)
  later(30 * DAY - 1)
  expect(await logins.authenticate(token)).not.toBeNull()
  await expect.poll(async () => Date.parse((await logins.sessionOf(token))!.expires_at)).toBeGreaterThan(later(0))
  later(31 * DAY)
  expect([await logins.authenticate(token), await logins.sessionOf(token)]).toEqual([null, null])
})

test('a session ends with its key, whether that is revoked or expires', async () => {
  await using place = await opened()
  const { logins, identities, later } = place
  const revoked = await logins.open(await place.key('ann'), null)
  const expiring = await logins.open(await place.key('ann', 'user', new Date(later(0) + HOUR)), null)
  await identities.revoke(revoked.identity.keyId)
  expect(await logins.authenticate(revoked.token)).toBeNull()
  expect(await logins.authenticate(expiring.token)).not.toBeNull()
  later(HOUR)
  expect(await logins.authenticate(expiring.token)).toBeNull()
  expect(await logins.list(revoked.identity)).toEqual([])
})

test('a code opens one session within ten minutes, and none after the end of its key', async () => {
  await using place = await opened()
  const { logins, identities, later } = place
  const key = await place.key('ann')
  const codes = [await logins.makeCode(key), await logins.makeCode(key), await logins.makeCode(key)]
  later(600_000 - 1)
  const opening = await Promise.all([1, 2].map(() => logins.redeem(codes[0]!.code, 'Firefox')))
  expect(opening.filter((one) => one !== null)).toMatchObject([{ session: { label: 'Firefox', user: 'ann' } }])
  await identities.revoke((await identities.list())[0]!.id)
  expect(await logins.redeem(codes[1]!.code, null)).toBeNull()
  later(1)
  expect(await logins.redeem(codes[2]!.code, null)).toBeNull()
})

test('a session token opens no session and makes no code; a key of the environment that looks like one does', async () => {
  await using place = await opened()
  const { logins } = place
  const { token, identity } = await logins.open(ENVIRONMENT_KEY, null)
  expect(identity).toMatchObject({ user: 'default', role: 'admin' })
  await expect(logins.open(token, null)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(logins.makeCode(token)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await logins.redeem((await logins.makeCode(ENVIRONMENT_KEY)).code, null)).toMatchObject({ identity })
  expect([await logins.sessionOf(ENVIRONMENT_KEY), (await logins.sessionOf(token))?.user]).toEqual([null, 'default'])
})

test('of more than 100 sessions of one key, the one that was used least recently ends', async () => {
  await using place = await opened()
  const { logins, later } = place
  const key = await place.key('ann')
  const first = await logins.open(key, null)
  later(HOUR)
  const second = await logins.open(key, null)
  later(HOUR)
  await logins.authenticate(first.token)
  await expect.poll(async () => (await logins.sessionOf(first.token))!.last_used_at).not.toBe(first.session.created_at)
  for (let count = 3; count <= 101; count++) await logins.open(key, null)
  expect([await logins.authenticate(first.token), await logins.authenticate(second.token)]).toMatchObject([{}, null])
})
