/** Contract of login sessions and the codes that open them. */
import { describe, expect, test } from 'vitest'
import { at, type MakePlace, range } from '../../../packages/server/testing/store-fixtures.ts'
import type { LoginCodeRow, LoginSessionRow, Storage } from '../../../packages/server/src/storage/index.ts'

const session = (id: string, change: Partial<LoginSessionRow> = {}): LoginSessionRow => ({
  id,
  user: 'ada',
  hash: `hash of ${id}`,
  key_hash: 'hash of a key',
  label: null,
  created_at: at(1),
  last_used_at: at(1),
  expires_at: at(100),
  ...change,
})
const code = (name: string, change: Partial<LoginCodeRow> = {}): LoginCodeRow => ({
  hash: `hash of ${name}`,
  user: 'ada',
  key_hash: 'hash of a key',
  created_at: at(1),
  expires_at: at(10),
  ...change,
})
const idsOf = async ({ logins }: Storage, user = 'ada') => (await logins.list(user)).map(({ id }) => id)

export function loginContract(makePlace: MakePlace): void {
  describe('login sessions', () => {
    test('a session is found by its hash until it is removed, also after reopening, and only its user removes it', async () => {
      await using place = await makePlace()
      {
        await using storage = await place.open()
        await storage.logins.create(session('b', { label: 'Firefox', created_at: at(2) }), 10)
        await storage.logins.create(session('a'), 10)
        await storage.logins.create(session('c', { user: 'bob' }), 10)
        await storage.logins.touch('a', { last_used_at: at(5), expires_at: at(200) })
        await storage.logins.touch('none', { last_used_at: at(5), expires_at: at(200) })
      }
      await using storage = await place.open()
      const { logins } = storage
      expect(await logins.find('hash of b')).toEqual(session('b', { label: 'Firefox', created_at: at(2) }))
      expect(await logins.find('hash of a')).toEqual(session('a', { last_used_at: at(5), expires_at: at(200) }))
      expect(await logins.find('hash of none')).toBeNull()
      expect([await idsOf(storage), await idsOf(storage, 'bob'), await idsOf(storage, 'eve')]).toEqual([
        ['a', 'b'],
        ['c'],
        [],
      ])
      expect([
        await logins.remove('bob', 'a'),
        await logins.remove('ada', 'a'),
        await logins.remove('ada', 'a'),
      ]).toEqual([false, true, false])
      expect([await logins.find('hash of a'), await idsOf(storage)]).toEqual([null, ['b']])
    })

    test('a new session replaces expired ones of its user, and those of its key that were used least recently', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { logins } = storage
      await logins.create(session('expired', { key_hash: 'another', expires_at: at(50) }), 2)
      await logins.create(session('of bob', { user: 'bob', expires_at: at(50) }), 2)
      await logins.create(session('of another key', { key_hash: 'another' }), 2)
      await logins.create(session('old', { last_used_at: at(9) }), 2)
      await logins.create(session('unused', { last_used_at: at(2) }), 2)
      await logins.create(session('new', { created_at: at(50), last_used_at: at(50) }), 2)
      expect((await idsOf(storage)).toSorted()).toEqual(['new', 'of another key', 'old'])
      expect(await idsOf(storage, 'bob')).toEqual(['of bob'])
    })
  })

  describe('login codes', () => {
    test('of several requests with one code, one gets it', async () => {
      await using place = await makePlace()
      {
        await using storage = await place.open()
        await storage.logins.addCode(code('k'), 10)
      }
      await using storage = await place.open()
      const taken = await Promise.all(range(1, 8).map(() => storage.logins.takeCode('hash of k')))
      expect(taken.filter((one) => one !== null)).toEqual([code('k')])
      expect(await storage.logins.takeCode('hash of none')).toBeNull()
    })

    test('a new code replaces expired ones of its user, and the oldest ones of its key', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { logins } = storage
      await logins.addCode(code('expired', { key_hash: 'another', expires_at: at(5) }), 2)
      await logins.addCode(code('of bob', { user: 'bob', expires_at: at(5) }), 2)
      for (const second of [1, 2, 3]) await logins.addCode(code(`k${second}`, { created_at: at(second) }), 2)
      await logins.addCode(code('of another key', { key_hash: 'another', created_at: at(5) }), 2)
      const left = ['expired', 'of bob', 'k1', 'k2', 'k3', 'of another key'].map(async (name) => ({
        name,
        taken: await logins.takeCode(`hash of ${name}`),
      }))
      expect((await Promise.all(left)).flatMap(({ name, taken }) => (taken === null ? [] : [name]))).toEqual([
        'of bob',
        'k2',
        'k3',
        'of another key',
      ])
    })
  })
}
