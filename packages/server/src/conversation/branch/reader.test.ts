import type { Event, TreeEvent } from '@parley/protocol'
import { asEventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { numbered, owned } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { callEvent, messageEvent, resultEvent } from '../../agent/view/events.testing.ts'
import { openSqlite } from '../../storage/index.ts'
import { navigationTarget, readBranch } from './reader.ts'

const child = (event: TreeEvent, parent: string): TreeEvent => ({ ...event, parent_id: asEventId(parent) })
const hookRan = { kind: 'HookExecutionEvent', id: 'hook', timestamp: 't', source: 'hook', parent_id: 'answer' }
const finished = callEvent('call', 'r1')
/** Two branches after the first answer; the second branch ends with an open call. */
const LOG = [
  messageEvent('question', 'hello'),
  child(messageEvent('answer', 'hi', 'agent'), 'question'),
  hookRan as unknown as Event,
  child(messageEvent('refused', 'a password'), 'hook'),
  child(messageEvent('again', 'go'), 'answer'),
  child(finished, 'again'),
  child(
    {
      ...resultEvent('done', finished),
      observation: { kind: 'FinishObservation', content: [], is_error: false },
    } as TreeEvent,
    'call',
  ),
  child(callEvent('open', 'r2'), 'again'),
] as Event[]

async function targets() {
  const dir = await tempDir()
  const storage = await openSqlite({ path: dir.file('parley.db') })
  const { id } = await owned(storage, { events: numbered(LOG) })
  return {
    of: (to: string | null, blocked: Readonly<Record<string, string>> = {}) =>
      navigationTarget(storage.events, id, to === null ? null : asEventId(to), blocked),
    branch: async (leaf: string) =>
      (await readBranch(storage.events, id, asEventId(leaf))).map(({ event }) => event.id as string),
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

test('a message that a hook blocked is owed no answer after a navigation to it (F14)', async () => {
  await using at = await targets()
  expect(await at.of('refused')).toMatchObject({ owes_step: true, last_user_message_id: 'refused' })
  expect(await at.of('refused', { refused: 'no passwords' })).toMatchObject({
    owes_step: false,
    last_user_message_id: 'refused',
  })
  expect(await at.of('refused', { question: 'another message' })).toMatchObject({ owes_step: true })
})

test('a navigation to an answer, to the hooks after it or to the end of a task owes no step; to a message it does', async () => {
  await using at = await targets()
  const owes = async (to: string | null) => (await at.of(to))?.owes_step
  expect(await owes('answer')).toBe(false)
  expect(await owes('hook')).toBe(false)
  expect(await owes('done')).toBe(false)
  expect(await owes('question')).toBe(true)
  expect(await owes('open')).toBe(true)
  expect(await owes(null)).toBe(true)
  expect(await at.of('nowhere')).toBeNull()
})

test('the target of a navigation has the open calls of its own branch and the newest message of a person', async () => {
  await using at = await targets()
  expect(await at.of('open')).toMatchObject({
    open_actions: [{ id: 'open', llm_response_id: 'r2' }],
    last_user_message_id: 'again',
  })
  expect(await at.of('call')).toMatchObject({ open_actions: [{ id: 'call' }] })
  expect(await at.of('done')).toMatchObject({ open_actions: [], last_user_message_id: 'again' })
})

test('a branch is read from its root to its leaf, without events of other branches', async () => {
  await using at = await targets()
  expect(await at.branch('refused')).toEqual(['question', 'answer', 'hook', 'refused'])
  expect(await at.branch('open')).toEqual(['question', 'answer', 'again', 'open'])
})
