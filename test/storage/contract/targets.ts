/** Webhook targets as rows, and the term of the sender of each. */
import { describe, expect, test } from 'vitest'
import type { NewTarget, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  type MakePlace,
  nextAppend,
  NODE,
  owned,
  TARGET,
  told,
} from '../../../packages/server/testing/store-fixtures.ts'

const OTHER = 'http://other.test'
const LATER = '9999-01-01T00:00:00.000Z'

const target = (name: string, change: Partial<NewTarget> = {}): NewTarget => ({
  name,
  events: false,
  waiting: false,
  options: '{"flush_delay":30}',
  sealed: `sealed of ${name}`,
  origin: 'configuration',
  ...change,
})
const namesOf = async (storage: Storage) => (await storage.targets.list()).map(({ name }) => name)
const due = (storage: Storage) => storage.outbox.due(TARGET, LATER, 10)

async function notify(storage: Storage): Promise<void> {
  await storage.conversations.append(nextAppend(await owned(storage), 1, { outbox: [{ topic: 'a', payload: '{}' }] }))
}

export function targetsContract(makePlace: MakePlace): void {
  describe('webhook targets', () => {
    test('a webhook target is stored with all its members, and every change has a version of its own', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.targets.version()).toBe(0)
      await storage.targets.put(target(OTHER, { origin: 'command' }))
      await storage.targets.put(target(TARGET, { events: true }))
      expect(await storage.targets.list()).toMatchObject([
        { ...target(OTHER, { origin: 'command' }), version: 1 },
        { ...target(TARGET, { events: true }), version: 2 },
      ])
      await storage.targets.put(target(OTHER, { sealed: 'another secret', origin: 'command' }))
      expect((await storage.targets.load()).targets[0]).toMatchObject({ sealed: 'another secret', version: 3 })
      expect(await storage.targets.remove(TARGET)).toBe(true)
      expect(await storage.targets.remove(TARGET)).toBe(false)
      expect(await storage.targets.version()).toBe(4)
      expect(await namesOf(storage)).toEqual([OTHER])
    })

    test('an old configuration neither changes a webhook target nor brings a removed one back', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.targets.add(target(TARGET))).toBe(true)
      expect(await storage.targets.add(target(TARGET, { sealed: 'old' }))).toBe(false)
      expect(await storage.targets.list()).toMatchObject([{ sealed: `sealed of ${TARGET}` }])
      await storage.targets.remove(TARGET)
      expect(await storage.targets.add(target(TARGET))).toBe(false)
      expect(await namesOf(storage)).toEqual([])
      await storage.targets.put(target(TARGET, { origin: 'command' }))
      expect(await namesOf(storage)).toEqual([TARGET])
    })

    test('the configuration of a single server removes the webhook targets that it does not name, and none of a command', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.targets.put(target('http://command.test', { origin: 'command' }))
      await storage.targets.configure([target(TARGET), target(OTHER)])
      await storage.targets.configure([target(OTHER)])
      expect(await namesOf(storage)).toEqual(['http://command.test', OTHER])
      await storage.targets.configure([])
      expect(await namesOf(storage)).toEqual(['http://command.test'])
    })

    test('a change of webhook targets by another process counts from the next load, which parks what was written for a removed one', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await using command = await place.open()
      await command.targets.put(target(TARGET))
      await notify(storage)
      expect(await due(storage)).toEqual([])
      await storage.targets.load()
      await notify(storage)
      expect(await due(storage)).toHaveLength(1)
      await command.targets.remove(TARGET)
      await notify(storage)
      expect(await due(storage)).toHaveLength(2)
      expect(await storage.targets.load()).toMatchObject({ version: 2, targets: [] })
      expect(await due(storage)).toEqual([])
      const parked = await storage.outbox.list({ status: 'parked', limit: 9 })
      expect(parked.items.map(({ last_error }) => last_error)).toEqual(
        Array.from({ length: 2 }, () => 'the target is no longer configured'),
      )
    })

    test('the sender of a webhook target begins no delivery after a later one, and its results do not count then', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notify(storage)
      const [delivery] = await due(storage)
      const outcome = {
        at: '2026-01-01T00:00:00.000Z',
        last_status: 200,
        last_error: null,
        status: 'delivered',
      } as const
      const first = await storage.outbox.lead(TARGET, NODE)
      expect(await storage.outbox.begin(delivery!.id, first)).toMatchObject({
        kind: 'begun',
        body: { kind: 'notification', payload: '{}' },
      })
      const second = await storage.outbox.lead(TARGET, NODE)
      expect(second).toBeGreaterThan(first)
      expect(await storage.outbox.begin(delivery!.id, first)).toEqual({ kind: 'refused' })
      expect((await storage.outbox.begin(delivery!.id, second)).kind).toBe('begun')
      await storage.outbox.record(delivery!.id, { ...outcome, term: first })
      expect((await storage.outbox.list({ limit: 1 })).items).toMatchObject([{ status: 'pending', attempts: 0 }])
      await storage.outbox.record(delivery!.id, { ...outcome, term: second })
      expect((await storage.outbox.list({ limit: 1 })).items).toMatchObject([{ status: 'delivered', attempts: 1 }])
      expect(await storage.outbox.begin(delivery!.id, second)).toEqual({ kind: 'refused' })
      expect(await storage.outbox.begin('nothing', second)).toEqual({ kind: 'refused' })
    })
  })
}
