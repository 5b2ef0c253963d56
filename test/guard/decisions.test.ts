/** Approvals are stored with the key, the time and the batch. Only a waiting batch can be approved or rejected. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ofKind,
  startRunning,
  type Answered,
  type Loose,
  type Running,
} from '../../packages/server/testing/restartable-server.ts'
import { runMessageAsCommand, RISKY, startWaiting } from '../../packages/server/testing/guarded-conversations.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }
let server: Running
beforeAll(async () => {
  server = await startRunning(runMessageAsCommand)
})
afterAll(() => server[Symbol.asyncDispose]())

const waiting = () => startWaiting(server, null, ALWAYS, RISKY)
const answer = (id: string, body: object): Promise<Answered> =>
  server.call('POST', `/api/conversations/${id}/events/respond_to_confirmation`, body)
const records = async (id: string): Promise<Loose[]> =>
  (await server.events(id)).filter(({ key }) => key === 'approval')
const batchOf = async (id: string): Promise<string> => ofKind(await server.events(id), 'ActionEvent')[0].llm_response_id
const isDone = (id: string): boolean => existsSync(join(server.work(id), 'proof'))

test.each([true, false])(
  'a decision with accept %s is stored with the key, the time, the batch and the reason',
  async (accept) => {
    const id = await waiting()
    const [action] = ofKind(await server.events(id), 'ActionEvent')
    const from = new Date().toISOString().slice(0, 19)
    const llm_response_id = await batchOf(id)
    expect((await answer(id, { accept, reason: 'I looked at it', llm_response_id })).status).toBe(200)
    await server.until(id, accept ? 'finished' : 'idle')
    const [record, ...more] = await records(id)
    expect(more).toEqual([])
    expect(record.value).toMatchObject({
      llm_response_id,
      action_ids: [action.id],
      decision: accept ? 'accept' : 'reject',
      actor: 'environment-0',
      reason: accept ? null : 'I looked at it',
    })
    expect(record.timestamp.slice(0, 19) >= from).toBe(true)
    expect(isDone(id)).toBe(accept)
    expect(JSON.stringify(await server.events(id)).includes('Action rejected')).toBe(false)
    if (!accept)
      expect(ofKind(await server.events(id), 'UserRejectObservation')[0]).toMatchObject({
        rejection_reason: 'I looked at it',
        rejection_source: 'user',
      })
  },
)

test('a decision about another batch is refused with the id of the waiting one', async () => {
  const id = await waiting()
  const batch = await batchOf(id)
  for (const accept of [true, false]) {
    const { status, text } = await answer(id, { accept, llm_response_id: 'another' })
    expect([status, text]).toEqual([409, expect.stringContaining(batch)])
  }
  expect([await records(id), isDone(id)]).toEqual([[], false])
})

test('an approval without a waiting batch is refused, before a batch, after it and in a fork (F02)', async () => {
  const idle = await server.start({ confirmation_policy: ALWAYS })
  const id = await waiting()
  const { body: fork } = await server.call('POST', `/api/conversations/${id}/fork`, {})
  await answer(id, { accept: true })
  await server.until(id, 'finished')
  for (const each of [idle, id, fork.id]) {
    const { status, text } = await answer(each, { accept: true })
    expect([status, text]).toEqual([409, expect.stringContaining('No action of this conversation waits')])
  }
  expect(await records(id)).toHaveLength(1)
  expect(await records(fork.id)).toEqual([])
})

test('one of two concurrent decisions counts, and the call is performed at most once', async () => {
  for (let turn = 0; turn < 5; turn++) {
    const id = await waiting()
    const llm_response_id = await batchOf(id)
    await Promise.all([true, false].map((accept) => answer(id, { accept, llm_response_id })))
    await server.until(id, 'finished', 'idle')
    const [{ value }, ...more] = await records(id)
    expect(more).toEqual([])
    expect(isDone(id)).toBe(value.decision === 'accept')
  }
})

test('a rewind before a waiting batch leaves nothing to approve', async () => {
  const id = await waiting()
  expect((await server.call('POST', `/api/conversations/${id}/navigate`, { event_id: null })).status).toBe(200)
  expect((await answer(id, { accept: true })).status).toBe(409)
  expect(isDone(id)).toBe(false)
})
