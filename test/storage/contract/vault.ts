/** Contract of settings, secrets and keys. */
import { describe, expect, test } from 'vitest'
import { type MakePlace, range } from '../../../packages/server/testing/store-fixtures.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export function vaultContract(makePlace: MakePlace): void {
  describe('settings', () => {
    test('fifty concurrent writers of settings lose no change', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const names = range(1, 50).map((n) => `member${n}`)
      await Promise.all(
        names.map((name) =>
          storage.settings.update('ada', (current) => JSON.stringify({ ...JSON.parse(current ?? '{}'), [name]: true })),
        ),
      )
      expect(Object.keys(JSON.parse((await storage.settings.get('ada')) ?? '{}') as object).toSorted()).toEqual(
        names.toSorted(),
      )
    })

    test('a change of settings that throws leaves the stored ones', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.settings.update('ada', (current) => current ?? 'first')).toBe('first')
      const refuse = () => {
        throw new RangeError('refused')
      }
      await expect(storage.settings.update('ada', refuse)).rejects.toThrow(RangeError)
      expect(await storage.settings.get('ada')).toBe('first')
    })

    test('settings belong to one user', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.settings.update('ada', () => 'hers')
      expect(await storage.settings.get('bob')).toBeNull()
    })
  })

  describe('secrets', () => {
    const secret = (name: string, sealed = 'sealed', description: string | null = null) => ({
      name,
      sealed,
      description,
    })

    test('a secret is created once per user and name', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.secrets.create('ada', secret('A', 'one', 'mine'))).toBe(true)
      expect(await storage.secrets.create('ada', secret('A', 'two'))).toBe(false)
      expect(await storage.secrets.create('bob', secret('A', 'his'))).toBe(true)
      const stored = await storage.secrets.get('ada', 'A')
      expect(stored).toEqual({
        ...secret('A', 'one', 'mine'),
        created_at: stored?.created_at,
        updated_at: stored?.created_at,
      })
      expect(stored?.created_at).toMatch(TIME)
      expect(await storage.secrets.get('ada', 'B')).toBeNull()
    })

    test('of concurrent creations of one secret, one succeeds', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const made = await Promise.all(range(1, 20).map((n) => storage.secrets.create('ada', secret('A', `${n}`))))
      expect(made.filter(Boolean)).toHaveLength(1)
    })

    test('put inserts a secret, then replaces it and keeps its time of creation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.secrets.put('ada', secret('A', 'one', 'first'))
      const first = await storage.secrets.get('ada', 'A')
      await storage.secrets.put('ada', secret('A', 'two'))
      expect(await storage.secrets.get('ada', 'A')).toMatchObject({
        ...secret('A', 'two'),
        created_at: first?.created_at,
      })
    })

    test('renaming a secret keeps its value and distinguishes unknown and taken names', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.secrets.put('ada', secret('A', 'a', 'old'))
      await storage.secrets.put('ada', secret('B', 'b'))
      expect(await storage.secrets.rename('ada', 'A', { name: 'B', description: null })).toBe('taken')
      expect(await storage.secrets.rename('ada', 'X', { name: 'Y', description: null })).toBe('unknown')
      expect(await storage.secrets.rename('bob', 'A', { name: 'C', description: null })).toBe('unknown')
      expect(await storage.secrets.rename('ada', 'A', { name: 'A', description: 'new' })).toBe('renamed')
      expect(await storage.secrets.rename('ada', 'A', { name: 'C', description: 'newer' })).toBe('renamed')
      expect(await storage.secrets.list('ada')).toMatchObject([secret('B', 'b'), secret('C', 'a', 'newer')])
    })

    test('secrets are listed by name and deleted once', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      for (const name of ['C', 'A', 'B']) await storage.secrets.put('ada', secret(name))
      expect((await storage.secrets.list('ada')).map(({ name }) => name)).toEqual(['A', 'B', 'C'])
      expect(await storage.secrets.delete('ada', 'B')).toBe(true)
      expect(await storage.secrets.delete('ada', 'B')).toBe(false)
      expect((await storage.secrets.list('ada')).map(({ name }) => name)).toEqual(['A', 'C'])
    })
  })

  describe('the version of secrets and settings', () => {
    test('every change of the secrets or settings of a user gives another version, also beside another store', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await using beside = await place.open()
      const secret = (name: string, sealed: string) => ({ name, sealed, description: null })
      const changes: (() => Promise<unknown>)[] = [
        () => storage.secrets.create('ada', secret('A', 'one')),
        () => beside.secrets.put('ada', secret('A', 'two')),
        () => beside.secrets.put('ada', secret('B', 'three')),
        () => storage.secrets.rename('ada', 'B', { name: 'C', description: 'd' }),
        () => storage.secrets.delete('ada', 'C'),
        () => beside.settings.update('ada', () => '{"first":1}'),
        () => storage.settings.update('ada', () => '{"second":2}'),
      ]
      const versions = [await storage.secrets.version('ada')]
      for (const change of changes) {
        await change()
        versions.push(await storage.secrets.version('ada'))
        expect(await beside.secrets.version('ada')).toBe(versions.at(-1))
      }
      expect(versions[0]).toBe(0)
      expect(new Set(versions).size).toBe(changes.length + 1)
    })

    test('reads, refused changes and changes of other users leave the version', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { secrets, settings } = storage
      const secret = { name: 'A', sealed: 's', description: null }
      await secrets.put('ada', secret)
      const before = await secrets.version('ada')
      await secrets.put('bob', secret)
      await settings.update('bob', () => '{}')
      await secrets.list('ada')
      await settings.get('ada')
      expect(await secrets.create('ada', secret)).toBe(false)
      expect(await secrets.delete('ada', 'unknown')).toBe(false)
      expect(await secrets.version('ada')).toBe(before)
      expect(await secrets.version('bob')).not.toBe(before)
    })

    test('a version is not used again after the user was deleted', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const secret = { name: 'A', sealed: 's', description: null }
      await storage.secrets.put('ada', secret)
      const before = await storage.secrets.version('ada')
      await storage.users.ensure('ada', null)
      await storage.users.setState('ada', 'deleting')
      await storage.users.erase('ada')
      expect(await storage.secrets.version('ada')).toBe(0)
      await storage.secrets.put('ada', secret)
      expect(await storage.secrets.version('ada')).toBeGreaterThan(before)
    })
  })

  describe('the test value of the sealing key', () => {
    test('of several first test values one is stored, which all of its writers get, and a later one replaces it', async () => {
      await using place = await makePlace()
      await using first = await place.open()
      await using second = await place.open()
      expect(await first.sealTest.get()).toBeNull()
      const drafts = range(1, 6).map((n) => ({ sealed: `sealed ${n}`, salt: `salt ${n}` }))
      const added = await Promise.all(drafts.map((draft, n) => (n % 2 === 0 ? first : second).sealTest.add(draft)))
      expect(drafts).toContainEqual(added[0])
      expect(added).toEqual(drafts.map(() => added[0]))
      expect(await second.sealTest.get()).toEqual(added[0])
      const replaced = { sealed: 'replaced', salt: 'salt' }
      await second.sealTest.put(replaced)
      expect(await first.sealTest.add(drafts[0]!)).toEqual(replaced)
    })
  })

  describe('keys', () => {
    const key = { id: 'k1', user: 'ada', role: 'user', hash: 'h1', label: null, expires_at: null } as const

    test('keys are found by hash, listed in order of creation, and revoked once', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const first = await storage.keys.create(key)
      const expiring = {
        ...key,
        id: 'k0',
        hash: 'h0',
        role: 'admin',
        expires_at: '2026-01-01T00:00:00.000Z',
        label: 'l',
      } as const
      const second = await storage.keys.create(expiring)
      expect(first).toEqual({ ...key, created_at: first.created_at, revoked_at: null })
      expect(first.created_at).toMatch(TIME)
      expect(await storage.keys.find('h0')).toEqual(second)
      expect(await storage.keys.find('unknown')).toBeNull()
      expect(await storage.keys.list()).toEqual([first, second])

      expect(await storage.keys.revoke('k1')).toBe(true)
      const revoked = await storage.keys.find('h1')
      expect(revoked?.revoked_at).toMatch(TIME)
      expect(await storage.keys.revoke('k1')).toBe(true)
      expect(await storage.keys.find('h1')).toEqual(revoked)
      expect(await storage.keys.revoke('unknown')).toBe(false)
    })

    test.each([{ hash: 'h2' }, { id: 'k2' }])('a key with a taken id or hash is refused: %j', async (change) => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.keys.create(key)
      await expect(storage.keys.create({ ...key, ...change })).rejects.toMatchObject({ code: 'conflict' })
      expect(await storage.keys.list()).toHaveLength(1)
    })
  })
}
