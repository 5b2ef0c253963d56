/** An approval counts for one batch, which the person has seen: whatever ids the model server gives, and in whatever order answers arrive. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  startRunning,
  type Answered,
  type Loose,
  type Running,
} from '../../packages/server/testing/restartable-server.ts'
import { placeOf } from '../../packages/server/testing/sub-agent-scripts.ts'
import { until } from '../../packages/server/testing/until.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }
const UNSEEN = 'no client of this user has received it'

let server: Running
beforeAll(async () => {
  // Every response has the same id, as some model servers give it.
  server = await startRunning((request) => {
    const { marker, turn } = placeOf(request)
    if (marker === 'parent')
      return turn === 0
        ? { id: '1', toolCalls: [{ name: 'task', arguments: { prompt: '[child] go' } }] }
        : { id: '1', text: 'done' }
    return { id: '1', toolCalls: [{ name: 'terminal', arguments: { command: `touch turn-${turn}` } }] }
  })
})
afterAll(() => server[Symbol.asyncDispose]())
afterEach(async () => {
  const { body } = await server.call('GET', '/api/conversations/search?limit=100')
  for (const { id } of body.items) await server.call('DELETE', `/api/conversations/${id}`)
})

const at = (id: string, path: string) => `/api/conversations/${id}${path}`
const run = (id: string, body?: object): Promise<Answered> => server.call('POST', at(id, '/run'), body)
const respond = (id: string, body: object): Promise<Answered> =>
  server.call('POST', at(id, '/events/respond_to_confirmation'), body)
const isDone = (id: string, turn: number) => existsSync(join(server.work(id), `turn-${turn}`))
const requests = async (id: string): Promise<Loose[]> =>
  (await server.events(id)).flatMap(({ key, value }) => (key === 'confirmation_request' ? [value] : []))
const approvals = async (id: string): Promise<Loose[]> =>
  (await server.events(id)).flatMap(({ key, value }) => (key === 'approval' ? [value] : []))

/** Waits for the n-th request without receiving it: by the number of waiting conversations, of which there is one. */
async function untilAsked(id: string, n: number): Promise<void> {
  await until(async () => {
    const { body } = await server.call('GET', at(id, '/events/search?kind=ActionEvent&limit=100'))
    const count = await server.call('GET', '/api/conversations/count?status=waiting_for_confirmation')
    return body.items.length >= n && count.body === 1
  }, 60_000)
}

async function waiting(members: object = {}): Promise<string> {
  const id = await server.start({ confirmation_policy: ALWAYS, autotitle: false, ...members })
  await server.say(id, 'go')
  await untilAsked(id, 1)
  return id
}

test('a run does not approve a batch that no client has received, and does once one has', async () => {
  const id = await waiting()
  const refused = await run(id)
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(UNSEEN)])
  expect([await approvals(id), isDone(id, 0)]).toEqual([[], false])
  await server.until(id, 'waiting_for_confirmation')
  expect((await run(id)).status).toBe(200)
  await untilAsked(id, 2)
  expect(isDone(id, 0)).toBe(true)

  // The same request again, because its answer was lost: the next batch has not been shown.
  const repeated = await run(id)
  expect([repeated.status, repeated.text]).toEqual([409, expect.stringContaining(UNSEEN)])
  expect(await approvals(id)).toHaveLength(1)
  expect(isDone(id, 1)).toBe(false)
})

test('a run that approves nothing is refused while a batch waits, also one that a client has received', async () => {
  const id = await waiting()
  await server.until(id, 'waiting_for_confirmation')
  const [request] = await requests(id)
  const refused = await run(id, { approve: false })
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(request.batch_id)])
  expect((await run(id, { approve: false, batch_id: request.batch_id })).status).toBe(422)
  expect([await approvals(id), isDone(id, 0)]).toEqual([[], false])
  expect((await respond(id, { accept: false, batch_id: request.batch_id })).status).toBe(200)
  expect((await run(id, { approve: false })).status).toBe(200)
  await untilAsked(id, 2)
})

test('an acceptance that names no batch needs one that a client has received', async () => {
  const id = await waiting()
  for (const named of [{}, { llm_response_id: 'chatcmpl-1' }]) {
    const { status, text } = await respond(id, { accept: true, ...named })
    expect([status, text]).toEqual([409, expect.stringContaining(UNSEEN)])
  }
  const [request] = await requests(id)
  expect(request).toMatchObject({ llm_response_id: 'chatcmpl-1', batch_id: expect.any(String) })
  expect((await respond(id, { accept: true })).status).toBe(200)
  await untilAsked(id, 2)
  expect(isDone(id, 0)).toBe(true)
})

test('waiting for the result of a message shows no batch', async () => {
  const id = await server.start({ confirmation_policy: ALWAYS, autotitle: false })
  const body = { content: [{ type: 'text', text: 'go' }], run: true }
  const answer = await server.call('POST', at(id, '/events'), body, { prefer: 'wait=30' })
  expect([answer.status, answer.body]).toEqual([200, { success: true }])
  await untilAsked(id, 1)
  expect((await run(id)).text).toContain(UNSEEN)
})

test('the id of a batch approves that batch only, also when the model server repeats response ids', async () => {
  const id = await waiting()
  const [first] = await requests(id)
  expect((await run(id, { batch_id: first.batch_id })).status).toBe(200)
  await untilAsked(id, 2)
  const [, second] = await requests(id)
  expect(second.batch_id).not.toBe(first.batch_id)
  for (const answer of [
    run(id, { batch_id: first.batch_id }),
    respond(id, { accept: true, batch_id: first.batch_id }),
  ]) {
    const { status, text } = await answer
    expect([status, text]).toEqual([409, expect.stringContaining(second.batch_id)])
  }
  expect([(await approvals(id)).length, isDone(id, 1)]).toEqual([1, false])
  expect((await respond(id, { accept: true, batch_id: second.batch_id })).status).toBe(200)
  await untilAsked(id, 3)
  expect(isDone(id, 1)).toBe(true)
  const digest = expect.stringMatching(/^[0-9a-f]{64}$/)
  expect(await approvals(id)).toMatchObject(
    [first, second].map(({ batch_id, actions: [{ action_id }] }) => ({
      batch_id,
      action_ids: [action_id],
      actions: [{ action_id, digest }],
      decision: 'accept',
    })),
  )
})

test('the opposite answer to a decided batch is refused, and the same answer succeeds without effect', async () => {
  const id = await waiting()
  const [{ batch_id }] = await requests(id)
  expect((await respond(id, { accept: false, batch_id })).status).toBe(200)
  await server.until(id, 'idle')
  expect((await respond(id, { accept: false, batch_id })).status).toBe(200)
  expect((await respond(id, { accept: true, batch_id })).status).toBe(409)
  expect((await run(id, { batch_id })).status).toBe(409)
  expect(await approvals(id)).toHaveLength(1)
  expect(isDone(id, 0)).toBe(false)
})

test('an answer that arrives after the contrary one is not answered as if it counted', async () => {
  const id = await waiting()
  const [{ batch_id }] = await requests(id)
  const [accepted, ...rejected] = await Promise.all([
    respond(id, { accept: true, batch_id }),
    respond(id, { accept: false, batch_id }),
    respond(id, { accept: false, llm_response_id: 'chatcmpl-1', batch_id }),
  ])
  const decisions = (await approvals(id)).map(({ decision }) => decision)
  // The way over another node may take longer.
  if (isOneNode) expect(decisions).toEqual(['accept'])
  expect(decisions).toHaveLength(1)
  expect([accepted.status, ...rejected.map(({ status }) => status)]).toEqual(
    decisions[0] === 'accept' ? [200, 409, 409] : [409, 200, 200],
  )
})

test('an answer to an older batch of a sub-agent approves no later one, also after a rewind and with the same response id', async () => {
  const agent = {
    kind: 'Agent',
    llm: { model: 'openai/scripted', base_url: `${server.model.url}/v1`, api_key: 'none', num_retries: 0 },
    tools: [{ name: 'terminal' }, { name: 'task_tool_set' }],
  }
  const id = await server.start({ confirmation_policy: ALWAYS, autotitle: false, agent })
  await server.say(id, '[parent] go')
  const asked = async (n: number): Promise<Loose> => {
    await until(async () => (await requests(id)).length >= n, 60_000)
    return (await requests(id))[n - 1]
  }
  const accept = async (n: number) => {
    const found = await asked(n)
    expect((await respond(id, { accept: true, batch_id: found.batch_id })).status).toBe(200)
    return found
  }
  await accept(1)
  const question = await accept(2)
  const child = question.sub_agent.conversation_id
  const file = join(server.work(id), 'turn-0')
  // The next request of the sub-agent waits; the person rewinds the sub-agent instead of answering.
  await asked(3)
  await server.until(child, 'waiting_for_confirmation')
  expect(existsSync(file)).toBe(true)
  await rm(file)
  const [{ id: root }] = (await server.events(child)).filter(({ kind }) => kind === 'MessageEvent')
  expect((await server.call('POST', at(child, '/navigate'), { event_id: root })).status).toBe(200)
  const again = await asked(4)
  expect(again.sub_agent).toMatchObject({ llm_response_id: question.sub_agent.llm_response_id })
  expect(again.sub_agent.actions[0].action.command).toBe('touch turn-0')
  await server.until(child, 'waiting_for_confirmation')
  expect([existsSync(file), (await approvals(child)).length]).toEqual([false, 1])
  await accept(4)
  await until(() => existsSync(file), 60_000)
  const known = new Set(
    (await approvals(id)).flatMap(({ actions }) => actions.map(({ action_id }: Loose) => action_id)),
  )
  for (const { action_ids } of await approvals(child))
    for (const action of action_ids) expect(known.has(action)).toBe(true)
}, 60_000)
