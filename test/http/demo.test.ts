/** The demo over HTTP: a scripted model, real tools, one approval. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'
import { startBench, type Bench } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

let server: Bench
beforeAll(async () => {
  server = await startBench()
})
afterAll(() => server[Symbol.asyncDispose]())

type Caller = { call: Bench['call'] | Running['call'] }

const at = (id: string) => `/api/conversations/${id}`
const infoOf = async ({ call }: Caller, id: string) => (await call('GET', at(id))).body
const reached = async (caller: Caller, id: string, status: string) =>
  until(async () => (await infoOf(caller, id)).execution_status === status)
const decide = async ({ call }: Caller, id: string, accept: boolean) => {
  expect((await call('GET', '/api/approvals')).status).toBe(200)
  return call('POST', `${at(id)}/events/respond_to_confirmation`, { accept, reason: accept ? '' : 'Not now' })
}
const finalOf = async ({ call }: Caller, id: string) =>
  (await call('GET', `${at(id)}/agent_final_response`)).body.response
const start = async (headers?: Record<string, string>) => server.call('POST', '/api/demo', undefined, headers)

test('the demo waits for one approval and then fixes the test', async () => {
  const started = await start()
  expect([started.status, Object.keys(started.body)]).toEqual([201, ['conversation_id']])
  const id = started.body.conversation_id
  expect((await start()).body).toEqual({ conversation_id: id })
  await reached(server, id, 'waiting_for_confirmation')
  const { body: waiting } = await server.call('GET', '/api/approvals')
  const mine = waiting.approvals.filter(({ conversation_id }: any) => conversation_id === id)
  expect(mine.flatMap(({ actions }: any) => actions.map(({ tool_name }: any) => tool_name))).toEqual(['apply_patch'])
  expect((await start()).status).toBe(200)
  expect((await decide(server, id, true)).status).toBe(200)
  await reached(server, id, 'finished')
  expect(await finalOf(server, id)).toMatch(/the test passes/)
  const info = await infoOf(server, id)
  expect(info).toMatchObject({ title: expect.stringMatching(/^Demo/), tags: { demo: 'true' } })

  const again = (await start()).body.conversation_id
  expect(again).not.toBe(id)
  const { workspace } = await infoOf(server, again)
  expect((await server.call('DELETE', '/api/demo')).status).toBe(204)
  expect((await server.call('GET', at(again))).status).toBe(404)
  await until(() => !existsSync(workspace.working_dir))
  expect((await server.call('DELETE', '/api/demo')).status).toBe(404)
})

test('a refused change ends the demo with a true statement', async () => {
  const id = (await start()).body.conversation_id
  await reached(server, id, 'waiting_for_confirmation')
  await decide(server, id, false)
  await server.call('POST', `${at(id)}/run`)
  await reached(server, id, 'finished')
  expect(await finalOf(server, id)).toMatch(/test still fails/)
})

// Nodes do not wait for each other.
test.skipIf(!isOneNode)('requests for a demo at the same time start one', async () => {
  const answers = await Promise.all([start(server.bob), start(server.bob), start(server.bob)])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 201])
  expect(new Set(answers.map(({ body }) => body.conversation_id)).size).toBe(1)
})

test('the demo of one user is unknown to another, and a key that only reads starts none', async () => {
  const id = (await start(server.bob)).body.conversation_id
  expect((await start()).body.conversation_id).not.toBe(id)
  expect((await server.call('GET', at(id))).status).toBe(404)
  await server.call('DELETE', '/api/demo')
  expect((await server.call('GET', at(id), undefined, server.bob)).status).toBe(200)
  for (const method of ['POST', 'DELETE'])
    expect((await server.call(method, '/api/demo', undefined, server.reader)).status).toBe(403)
  expect((await server.call('POST', '/api/demo', undefined, { 'X-Session-API-Key': 'none' })).status).toBe(401)
})

test('a demo that is deleted as a conversation is replaced by another one', async () => {
  const id = (await start(server.bob)).body.conversation_id
  expect((await server.call('DELETE', at(id), undefined, server.bob)).status).toBe(200)
  const next = await start(server.bob)
  expect([next.status, next.body.conversation_id === id]).toEqual([201, false])
})

test('pages and clients learn that the server has a demo', async () => {
  expect((await server.call('GET', '/api/me')).body.features).toContain('demo')
  expect((await server.call('GET', '/server_info')).body.capabilities).toContain('demo')
})

test('the demo continues after the server is killed while the approval waits', { timeout: 60_000 }, async () => {
  await using running = await startRunning(() => ({ text: 'never asked' }), {}, 'process')
  const id = (await running.call('POST', '/api/demo')).body.conversation_id
  await reached(running, id, 'waiting_for_confirmation')
  await running.kill()
  expect((await running.call('POST', '/api/demo')).body.conversation_id).toBe(id)
  await decide(running, id, true)
  await reached(running, id, 'finished')
  expect(await finalOf(running, id)).toMatch(/the test passes/)
  expect(running.model.requests).toHaveLength(0)
})
