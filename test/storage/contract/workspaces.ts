/** Contract of the workspaces that a server has created. */
import { describe, expect, test } from 'vitest'
import type { MadeWorkspace, Storage } from '../../../packages/server/src/storage/index.ts'
import { conversation, type MakePlace, nextAppend, own } from '../../../packages/server/testing/store-fixtures.ts'

const folder = (root: string, change: Partial<MadeWorkspace> = {}): MadeWorkspace => ({
  root,
  owner: 'ada',
  kind: 'folder',
  inode: '18446744073709551615',
  repository: null,
  ...change,
})
const recordOf = (working_dir: string | null, source: string | null = null) =>
  JSON.stringify({ workspace: { kind: 'LocalWorkspace', working_dir }, worktree: source === null ? null : { source } })
async function create(storage: Storage, record: string, owner = 'ada') {
  const draft = conversation({ record, owner })
  await storage.conversations.create(draft)
  return draft.id
}

export function workspaceContract(makePlace: MakePlace): void {
  describe('workspaces', () => {
    test('a created directory is found by its path and by every path inside it, also after reopening', async () => {
      await using place = await makePlace()
      const tree = folder('/data/w/1/inner', { kind: 'worktree', repository: '/home/repo' })
      {
        await using storage = await place.open()
        await storage.workspaces.put(folder('/data/w/1', { inode: '1' }))
        await storage.workspaces.put(folder('/data/w/1'))
        await storage.workspaces.put(tree)
      }
      await using storage = await place.open()
      const { workspaces } = storage
      expect(await workspaces.containing('/data/w/1')).toEqual(folder('/data/w/1'))
      expect(await workspaces.containing('/data/w/1/shop/src')).toEqual(folder('/data/w/1'))
      expect(await workspaces.containing('/data/w/1/inner/src')).toEqual(tree)
      for (const other of ['/data/w', '/data/w/12', '/data/w/2', '/', 'data/w/1'])
        expect(await workspaces.containing(other), other).toBeNull()
      await workspaces.forget('/data/w/1')
      expect(await workspaces.containing('/data/w/1/shop')).toBeNull()
      expect(await workspaces.containing('/data/w/1/inner')).toEqual(tree)
    })

    test('a directory is named by conversations of every user that work in it, below it, or in a worktree of it', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const root = '/data/w/1'
      const naming = async (limit = 10) => (await storage.workspaces.naming(root, limit)).toSorted()
      const users = [
        await create(storage, recordOf(root)),
        await create(storage, recordOf(`${root}/shop`), 'bob'),
        await create(storage, recordOf('/elsewhere', `${root}/shop`)),
      ]
      for (const other of ['/data/w', '/data/w/12', '/data/w/1.0', '/data/w/10/a', '/DATA/w/1'])
        await create(storage, recordOf(other))
      for (const damaged of ['', '{', '[]', '{"workspace":null}', '{"workspace":{"working_dir":7}}'])
        await create(storage, damaged)
      expect(await naming()).toEqual(users.toSorted())
      expect(await naming(1)).toHaveLength(1)

      const [first, ...rest] = users
      await storage.conversations.delete(first!)
      expect(await naming()).toEqual(rest.toSorted())
      const { row } = await own(storage, rest[0]!)
      await storage.conversations.append(nextAppend(row, 1, { row: { record: recordOf('/moved') } }))
      expect(await naming()).toEqual([rest[1]])
    })

    test('a deletion records what it decides about the workspace', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const record = recordOf('/data/w/1')
      const id = await create(storage, record, 'bob')
      await storage.conversations.delete(id, [], 'delete')
      expect(await storage.conversations.owedReleases()).toEqual([{ id, owner: 'bob', record, workspace: 'delete' }])
    })
  })
}
