/** Messages with an id that their client has chosen, sent again. */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

let edge: KeyedServer
let modelCalls = 0

beforeAll(async () => {
  edge = await startKeyedServer({
    respond: async () => {
      modelCalls += 1
      return { text: 'Hello.' }
    },
  })
})
afterAll(() => edge[Symbol.asyncDispose]())

const send = (id: string, event_id: string, text: string, key: string = KEYS.ann) =>
  edge.call(
    'POST',
    `/api/conversations/${id}/events`,
    { content: [{ type: 'text', text }], run: true, event_id },
    { key },
  )
const messages = async (id: string): Promise<Loose[]> =>
  (await edge.call('GET', `/api/conversations/${id}/events/search?kind=MessageEvent&source=user`)).json.items
const finished = (id: string) =>
  until(async () => (await edge.call('GET', `/api/conversations/${id}`)).json.execution_status === 'finished')

test('a message that is sent again under its event_id is stored once, and its turn runs once, also for repetitions at the same time', async () => {
  const { id } = await edge.start()
  const before = modelCalls
  const event_id = randomUUID()
  // The conversation may still be starting, so that some of these wait for the end of the start.
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(id, event_id, 'once')))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await finished(id)
  expect((await send(id, event_id.toUpperCase(), 'once')).status).toBe(200)
  expect(await messages(id)).toMatchObject([{ id: event_id, llm_message: { content: [{ text: 'once' }] } }])
  expect((await edge.call('GET', `/api/conversations/${id}`)).json.execution_status).toBe('finished')
  expect(modelCalls - before).toBe(1)
})

test('an event_id with other content, or of another conversation of the user, returns 409 and stores nothing', async () => {
  const [{ id }, other] = [await edge.start(), await edge.start()]
  const event_id = randomUUID()
  await send(id, event_id, 'mine')
  await finished(id)
  const changed = await send(id, event_id, 'changed')
  expect([changed.status, changed.json.detail]).toEqual([409, expect.stringContaining(event_id)])
  expect((await send(other.id, event_id, 'mine')).status).toBe(409)
  const [action] = (await edge.call('GET', `/api/conversations/${id}/events/search?source=agent`)).json.items
  expect((await send(id, action.id, 'mine')).status).toBe(409)
  expect(await messages(id)).toHaveLength(1)
  expect(await messages(other.id)).toEqual([])
  expect((await send(id, 'not-a-uuid', 'mine')).status).toBe(422)
})

test('the id of an event of another user can be chosen, so that a user cannot find out which ids others use', async () => {
  const { id } = await edge.start()
  const event_id = randomUUID()
  await send(id, event_id, 'mine')
  const theirs = await edge.call(
    'POST',
    '/api/conversations',
    { workspace: { working_dir: '/var/tmp' }, agent: edge.agent, autotitle: false },
    { key: KEYS.bob },
  )
  expect((await send(theirs.json.id, event_id, 'theirs', KEYS.bob)).status).toBe(200)
})

test('hooks inspect a message once, however often it is sent', async () => {
  await using dir = await tempDir()
  const file = dir.file('inspections')
  const hooks = [{ matcher: '*', hooks: [{ command: `echo inspected >> ${file}` }] }]
  const { id } = await edge.start({ hook_config: { user_prompt_submit: hooks } })
  const event_id = randomUUID()
  await Promise.all(Array.from({ length: 3 }, () => send(id, event_id, 'once')))
  await finished(id)
  await send(id, event_id, 'once')
  expect(await readFile(file, 'utf8')).toBe('inspected\n')
  expect(await messages(id)).toMatchObject([{ id: event_id }])
})
