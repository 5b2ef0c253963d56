import {
  asConversationId,
  newEventId,
  type ActionEvent,
  type Draft,
  type Event,
  type EventId,
  type OpenAction,
} from '@parley/protocol'
import { expect, test } from 'vitest'
import { conversation, numbered, otherEvent } from '../../../testing/store-fixtures.ts'
import { makeMasker, maskDrafts, openCipher } from '../../secrets/index.ts'
import { openSqlite } from '../../storage/index.ts'
import { callDigest } from '../record/call-digest.ts'
import { restoreArguments, sealedArguments } from './sealed-arguments.ts'

const ID = asConversationId('c1')
const SECRET = 'harvest'
const own = (id: EventId, command: string) =>
  ({
    ...otherEvent('ActionEvent'),
    id,
    tool_name: 'terminal',
    action: { kind: 'TerminalAction', command },
    tool_call: { id: 'call', name: 'terminal', arguments: JSON.stringify({ command }), origin: 'completion' },
  }) as unknown as ActionEvent
const masked = (values: readonly string[], event: ActionEvent): ActionEvent =>
  maskDrafts([event as unknown as Draft], makeMasker(values))[0] as unknown as ActionEvent
const digestOf = (event: ActionEvent) => callDigest(masked([SECRET], event))

/** A conversation whose log has a masked call, and these approvals of it. */
async function bench({
  command = `printf ${SECRET}`,
  approvals = (): object[] => [],
  isSealed = true,
}: { command?: string; approvals?: (call: ActionEvent) => object[]; isSealed?: boolean } = {}) {
  const storage = await openSqlite({ path: ':memory:' })
  const cipher = await openCipher({ keyText: 'key', keyFile: '', salt: '' })
  const call = own(newEventId(), command)
  const event = masked([SECRET], call)
  const decided = approvals(call).map((approval) =>
    otherEvent('ApprovalEvent', { decision: 'accept', action_ids: [call.id], ...approval }),
  )
  const events = numbered([event as unknown as Event, ...decided])
  await storage.conversations.create({ ...conversation({ id: ID }), events })
  const open = [{ id: call.id, seq: 1 } as OpenAction]
  const notes = sealedArguments(
    ID,
    { events: events.slice(0, 1), drafts: [call], state: { open_actions: open } },
    cipher,
  )
  if (isSealed) for (const note of notes) await storage.notes.put({ id: ID, epoch: 0 }, note)
  const warnings: unknown[] = []
  return {
    storage,
    cipher,
    call,
    event,
    notes,
    warnings,
    restore: (consent?: 'given', values: readonly string[] = [SECRET], of: { id?: string; event?: ActionEvent } = {}) =>
      restoreArguments(
        asConversationId(of.id ?? ID),
        of.event ?? event,
        { ...open[0]!, ...(consent && { consent }) },
        {
          events: storage.events,
          notes: {
            // The row of this call, whatever is asked for.
            get: (_, kind) => storage.notes.get(ID, kind, call.id),
          },
          cipher,
          mask: async (drafts) => maskDrafts(drafts, makeMasker(values)),
          log: { warn: (fields: unknown) => void warnings.push(fields) } as never,
        },
      ),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  }
}

test('a masked call is restored in the form that the agent gave it', async () => {
  await using the = await bench()
  expect(JSON.stringify(the.event)).not.toContain(SECRET)
  expect(JSON.stringify(the.notes)).not.toContain(SECRET)
  const { action, tool_call } = the.call
  expect(await the.restore()).toEqual({ ...the.event, action, tool_call })
  expect(the.warnings).toEqual([])
})

test('only masked calls that are open after their commit are sealed, up to a length', async () => {
  await using the = await bench({ command: 'echo' })
  expect([the.notes, await the.restore()]).toEqual([[], null])
  const seal = (command: string, isOpen = true) => {
    const call = own(newEventId(), command)
    const open_actions = isOpen ? [{ id: call.id, seq: 1 } as OpenAction] : []
    const events = numbered([masked([SECRET], call) as unknown as Event])
    return sealedArguments(ID, { events, drafts: [call], state: { open_actions } }, the.cipher).map(
      ({ about }) => about,
    )
  }
  expect(seal(SECRET)).toHaveLength(1)
  expect(seal(SECRET, false)).toEqual([])
  expect(seal(SECRET + 'x'.repeat(400_000))).toHaveLength(1)
  expect(seal(SECRET + 'x'.repeat(600_000))).toEqual([])
})

test.each<[string, (the: Awaited<ReturnType<typeof bench>>) => Promise<unknown>, string]>([
  ['whose secret has another value', (the) => the.restore(undefined, ['another']), 'a secret was changed'],
  ['whose secret is deleted', (the) => the.restore(undefined, []), 'a secret was changed'],
  ['of another conversation', (the) => the.restore(undefined, [SECRET], { id: 'c2' }), 'foreign'],
  [
    'of another call',
    (the) => the.restore(undefined, [SECRET], { event: { ...the.event, id: newEventId() } }),
    'foreign',
  ],
  [
    'with other arguments',
    (the) => the.restore(undefined, [SECRET], { event: masked([SECRET], own(the.call.id, `rm ${SECRET}`)) }),
    'a secret was changed',
  ],
  [
    'whose note is damaged',
    async (the) => {
      await the.storage.notes.change(ID, 'arguments', [the.call.id], the.notes[0]!.text.slice(0, -8))
      return the.restore()
    },
    'unreadable',
  ],
])('a masked call %s is not restored', async (_, restore, reason) => {
  await using the = await bench()
  expect(await restore(the)).toBeNull()
  expect(the.warnings).toMatchObject([{ reason }])
})

test('a masked call without a note is not restored', async () => {
  await using the = await bench({ isSealed: false })
  expect([await the.restore(), the.warnings]).toEqual([null, []])
})

const APPROVED = (digest: string) => (call: ActionEvent) => ({ actions: [{ action_id: call.id, digest }] })

test.each<[string, boolean, (call: ActionEvent) => object[]]>([
  ['names them', true, (call) => [APPROVED(digestOf(call))(call)]],
  ['names others', false, (call) => [APPROVED('0'.repeat(64))(call)]],
  ['names others, after one that named them', false, (call) => [APPROVED(digestOf(call))(call), APPROVED('0')(call)]],
  ['names them, after one that named others', true, (call) => [APPROVED('0')(call), APPROVED(digestOf(call))(call)]],
  ['is of an older log and names none', true, () => [{}]],
  ['names other actions only', false, () => [{ actions: [] }]],
  ['is a rejection', false, (call) => [{ ...APPROVED(digestOf(call))(call), decision: 'reject' }]],
  ['concerns other calls', false, (call) => [{ ...APPROVED(digestOf(call))(call), action_ids: [] }]],
  ['is missing', false, () => []],
])('the arguments of an approved call whose approval %s are restored: %s', async (_, isRestored, approvals) => {
  await using the = await bench({ approvals })
  expect((await the.restore('given')) !== null).toBe(isRestored)
})
