/** A message that replaces another one: the navigation to its parent and the message are one commit. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'
import { type ScriptedModel, startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

let model: ScriptedModel
let server: TestServer
/** Text of the newest request to the model. */
let asked = ''
beforeAll(async () => {
  model = await startScriptedModel({
    respond: ({ text }, index) => {
      asked = text
      return text.includes('long step')
        ? { toolCalls: [{ name: 'terminal', arguments: { command: 'sleep 60' } }] }
        : { text: `answer ${index}` }
    },
  })
  server = await startTestServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

type Live = Awaited<ReturnType<typeof start>>

/** A conversation with two messages and their answers. */
async function conversed(): Promise<{ live: Live; second: { id: string; parent_id: string } }> {
  const live = await start(server, starting(model, server.dir.file(randomUUID())))
  for (const text of ['first words', 'second words']) {
    await live.say(text)
    await live.is('finished')
  }
  const [, second] = (await live.kinds('MessageEvent')).filter(({ source }) => source === 'user')
  return { live, second }
}

const send = (live: Live, text: string, members: object) =>
  live.post('events', { ...message(text), run: true, ...members })

/** Texts of the messages from the leaf to the root. */
async function branchOf(live: Live): Promise<string[]> {
  const events = await live.events()
  const texts: string[] = []
  let at = (await live.info()).leaf_event_id as string | null
  while (at !== null && at !== '__root__') {
    const event = events.find(({ id }) => id === at)
    if (event.kind === 'MessageEvent') texts.push(event.llm_message.content[0].text)
    at = event.parent_id ?? null
  }
  return texts
}

test('a message with a parent continues there, and the model sees nothing of the branch that was left', async () => {
  const { live, second } = await conversed()
  const answer = await send(live, 'other words', { parent_event_id: second.parent_id })
  expect(answer).toMatchObject({ status: 200, body: { success: true } })
  await live.is('finished')
  expect(await branchOf(live)).toEqual([
    expect.stringMatching(/^answer/),
    'other words',
    expect.stringMatching(/^answer/),
    'first words',
  ])
  expect([asked.includes('first words'), asked.includes('other words'), asked.includes('second words')]).toEqual([
    true,
    true,
    false,
  ])
})

test('a message with the parent null begins a second branch at the empty tree, with a system prompt', async () => {
  const { live } = await conversed()
  expect((await send(live, 'new beginning', { parent_event_id: null })).status).toBe(200)
  await live.is('finished')
  expect(await branchOf(live)).toEqual([expect.stringMatching(/^answer/), 'new beginning'])
  expect((await live.kinds('SystemPromptEvent')).map(({ parent_id }) => parent_id ?? null)).toEqual([null, '__root__'])
  expect(asked.includes('first words')).toBe(false)
})

test('a message whose parent is unknown, or that a running conversation refuses, changes nothing', async () => {
  const { live, second } = await conversed()
  const before = (await live.events()).length
  expect((await send(live, 'x', { parent_event_id: randomUUID() })).status).toBe(404)
  expect((await send(live, 'x', { parent_event_id: 'no id' })).status).toBe(422)
  expect((await live.events()).length).toBe(before)
  await live.say('long step')
  await live.is('running')
  const { leaf_event_id: leaf } = await live.info()
  expect((await send(live, 'x', { parent_event_id: second.parent_id })).status).toBe(409)
  expect(JSON.stringify(await live.kinds('MessageEvent'))).not.toContain('"x"')
  expect(leaf).not.toBe(second.parent_id)
  await live.post('interrupt')
})

test('a message with a parent that is sent again under its event_id is stored once and moves nothing', async () => {
  const { live, second } = await conversed()
  const members = { parent_event_id: second.parent_id, event_id: randomUUID() }
  for (const _ of [1, 2]) expect((await send(live, 'other words', members)).status).toBe(200)
  await live.is('finished')
  const { leaf_event_id: leaf } = await live.info()
  expect((await send(live, 'other words', members)).status).toBe(200)
  expect((await live.info()).leaf_event_id).toBe(leaf)
  expect((await branchOf(live)).filter((text) => text === 'other words')).toHaveLength(1)
})

test('a navigation from another leaf than the expected one is refused and names the leaf', async () => {
  const { live, second } = await conversed()
  const { leaf_event_id: leaf } = await live.info()
  for (const expected of [second.id, null]) {
    const refused = await live.post('navigate', { event_id: null, expected_leaf_event_id: expected })
    expect(refused).toMatchObject({ status: 409, body: { leaf_event_id: leaf } })
  }
  const moved = await live.post('navigate', { event_id: second.id, expected_leaf_event_id: leaf })
  expect(moved).toMatchObject({ status: 200, body: { leaf_event_id: second.id } })
  expect((await live.post('navigate', { event_id: null, expected_leaf_event_id: second.id })).status).toBe(200)
  expect((await live.post('navigate', { event_id: second.id, expected_leaf_event_id: null })).status).toBe(200)
})

test('a server that is killed right after it has moved the leaf for a message has stored the message', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await using first = await startServerProcess({ dataDir, crash: { at: 'LeafMovedEvent', when: 'after' } })
  const live = await start(first, starting(model, dir.file('work')))
  await live.say('first words')
  await live.is('finished')
  const [sent] = await live.kinds('MessageEvent')
  await expect(send(live, 'other words', { parent_event_id: sent.parent_id, run: false })).rejects.toThrow()
  await first.exited
  await using second = await startServerProcess({ dataDir })
  const { body } = await second.call('GET', `/api/conversations/${live.id}/events/search?kind=MessageEvent`)
  const messages = body.items.filter(({ source }: { source: string }) => source === 'user')
  expect(
    messages.map((event: { parent_id: string; llm_message: { content: { text: string }[] } }) => [
      event.llm_message.content[0]!.text,
      event.parent_id,
    ]),
  ).toEqual([
    ['first words', sent.parent_id],
    ['other words', sent.parent_id],
  ])
})
