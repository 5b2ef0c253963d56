/** Contract of a user's data outside conversations: documents by collection and name, and bash commands. */
import { describe, expect, test } from 'vitest'
import type { BashEventRow } from '../../../packages/server/src/storage/index.ts'
import { type MakePlace, range } from '../../../packages/server/testing/store-fixtures.ts'

const command = (n: number): BashEventRow => ({
  id: `c${n}`,
  kind: 'BashCommand',
  command_id: null,
  order: null,
  timestamp: `2026-01-01T00:00:0${n}.000000`,
  json: JSON.stringify({ n }),
})
const output = (n: number, order: number): BashEventRow => ({
  ...command(n),
  id: `o${n}.${order}`,
  kind: 'BashOutput',
  command_id: `c${n}`,
  order,
})

export function keepsakeContract(makePlace: MakePlace): void {
  describe('documents', () => {
    test('documents are stored by user, collection and name, and listed in order', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.documents.edit('ada', (edit) => {
        edit.put('fruit', 'pear', '1')
        edit.put('fruit', 'apple', '2')
        edit.put('other', 'apple', '3')
      })
      await storage.documents.edit('ada', (edit) => edit.put('fruit', 'pear', '4'))
      const rows = await storage.documents.list('ada', 'fruit')
      expect(rows.map(({ name, json }) => [name, json])).toEqual([
        ['apple', '2'],
        ['pear', '4'],
      ])
      expect(await storage.documents.get('ada', 'other', 'apple')).toMatchObject({ json: '3' })
      expect(await storage.documents.get('ada', 'other', 'pear')).toBeNull()
      expect(await storage.documents.list('bob', 'fruit')).toEqual([])
      expect(await storage.documents.edit('ada', (edit) => edit.delete('fruit', 'pear'))).toBe(true)
      expect(await storage.documents.edit('ada', (edit) => edit.delete('fruit', 'pear'))).toBe(false)
    })

    test('an edit of documents sees its own writes, and changes nothing when it throws', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const failing = storage.documents.edit('ada', (edit) => {
        edit.put('fruit', 'apple', '1')
        expect(edit.list('fruit')).toHaveLength(1)
        throw new RangeError('refused')
      })
      await expect(failing).rejects.toThrow(RangeError)
      expect(await storage.documents.list('ada', 'fruit')).toEqual([])
    })

    test('of concurrent edits for the last free document, one succeeds', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const made = await Promise.all(
        range(1, 20).map((n) =>
          storage.documents.edit('ada', (edit) => {
            if (edit.list('fruit').length > 0) return false
            edit.put('fruit', `${n}`, '1')
            return true
          }),
        ),
      )
      expect(made.filter(Boolean)).toHaveLength(1)
    })
  })

  describe('commands', () => {
    test('bash commands are open until a last output, and are stored once', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { bash } = storage
      await bash.append('ada', command(1))
      await bash.append('bob', command(1))
      await bash.append('ada', output(1, 0))
      expect((await bash.open()).map(({ user, event }) => [user, event.id])).toEqual([
        ['ada', 'c1'],
        ['bob', 'c1'],
      ])
      await bash.append('ada', output(1, 0))
      await bash.append('ada', output(1, 1), true)
      expect((await bash.open()).map(({ user }) => user)).toEqual(['bob'])
      expect(await bash.get('ada', 'o1.1')).toEqual(output(1, 1))
      expect(await bash.get('bob', 'o1.1')).toBeNull()
      expect((await bash.search('ada', { order: 'asc', limit: 10 })).items).toEqual([
        command(1),
        output(1, 0),
        output(1, 1),
      ])
    })

    test('bash events are found by kind, command, time and order, in pages', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { bash } = storage
      for (const n of range(1, 4)) {
        await bash.append('ada', command(n))
        await bash.append('ada', output(n, 0), true)
      }
      const ids = async (query: object) =>
        (await bash.search('ada', { order: 'asc', limit: 10, ...query })).items.map(({ id }) => id)
      expect(await ids({ kind: 'BashCommand' })).toEqual(['c1', 'c2', 'c3', 'c4'])
      expect(await ids({ command_id: 'c2' })).toEqual(['o2.0'])
      expect(await ids({ command_id: 'c2', orderGt: 0 })).toEqual([])
      expect(await ids({ timestampGte: command(2).timestamp, timestampLt: command(3).timestamp })).toEqual([
        'c2',
        'o2.0',
      ])
      const page = await bash.search('ada', { order: 'desc', limit: 3 })
      expect([page.items.map(({ id }) => id), page.next]).toEqual([['o4.0', 'c4', 'o3.0'], 'c3'])
      expect(await ids({ order: 'desc', from: 'c3', limit: 2 })).toEqual(['c3', 'o2.0'])
      expect(await ids({ from: 'unknown', limit: 1 })).toEqual(['c1'])
    })

    test('pruning deletes the oldest bash events beyond the bounds, except open commands', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { bash } = storage
      await bash.append('ada', command(1))
      for (const n of range(2, 5)) await bash.append('ada', command(n), true)
      await bash.append('bob', command(1), true)
      expect(await bash.prune('ada', { atMost: 10, maxBytes: 1_000_000 })).toBe(0)
      expect(await bash.prune('ada', { atMost: 2, maxBytes: 1_000_000 })).toBe(2)
      const left = async () => (await bash.search('ada', { order: 'asc', limit: 10 })).items.map(({ id }) => id)
      expect(await left()).toEqual(['c1', 'c4', 'c5'])
      expect(await bash.prune('ada', { atMost: 10, maxBytes: Buffer.byteLength(command(5).json) })).toBe(1)
      expect(await left()).toEqual(['c1', 'c5'])
      expect(await bash.clear('ada')).toBe(2)
      expect(await bash.clear('bob')).toBe(1)
    })
  })
}
