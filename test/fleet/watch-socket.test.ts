/** The watch socket at a node that owns none of the conversations. They are in a directory of the first node. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NODE_KEYS, startNodes, type TestNode, type TestNodes } from '../../packages/server/testing/nodes.ts'

type Loose = ReturnType<typeof JSON.parse>

let all: TestNodes
let owner: TestNode
let other: TestNode
beforeAll(async () => {
  all = await startNodes({ respond: async () => ({ text: 'Hello to you.' }) })
  owner = all.nodes[0]!
  other = all.nodes[1]!
}, 120_000)
afterAll(() => all[Symbol.asyncDispose]())

const say = (node: TestNode, id: string, text: string) =>
  node.call('POST', `/api/conversations/${id}/events`, { role: 'user', content: [{ type: 'text', text }], run: true })
const of = (id: string, type: string) => (frame: Loose) => frame.conversation_id === id && frame.type === type

test('a subscription at another node gets the frames of the owner, and the feed there reports what the owner stores', async () => {
  const id = await all.create(owner)
  await using socket = other.socket('/sockets/watch')
  await socket.opened
  socket.send({ subscribe: 'feed' })
  await socket.next(({ type }) => type === 'lists')
  await using strangers = other.socket('/sockets/watch', NODE_KEYS.bob)
  await strangers.opened
  strangers.send({ subscribe: 'feed' })
  await strangers.next(({ type }) => type === 'lists')
  strangers.send({ subscribe: { conversation: id } })
  expect(await strangers.next()).toMatchObject({ type: 'ended', conversation_id: id, code: 4004 })

  await say(owner, id, 'for the feed')
  expect(await socket.next((frame) => of(id, 'changed')(frame) && frame.execution_status === 'finished')).toBeDefined()
  socket.send({ subscribe: { conversation: id } })
  expect(await socket.next(of(id, 'event'))).toMatchObject({ seq: 1 })
  await say(other, id, 'and now live')
  await socket.next(of(id, 'delta'))
  await socket.next((frame) => of(id, 'event')(frame) && JSON.stringify(frame).includes('Hello to you.'))
  const seqs = socket.frames.filter(of(id, 'event')).map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(strangers.frames.filter(({ type }) => type === 'changed')).toEqual([])
})

test('when the owner is killed, the subscription at another node ends with 1012 and the feed continues', async () => {
  const id = await all.create(owner)
  await using socket = other.socket('/sockets/watch')
  await socket.opened
  socket.send({ subscribe: 'feed' })
  await socket.next(({ type }) => type === 'lists')
  socket.send({ subscribe: { conversation: id } })
  await socket.next(of(id, 'snapshot'))
  await owner.server.kill()
  expect(await socket.next(of(id, 'ended'))).toMatchObject({ code: 1012 })
  const made = await all.create(other)
  await socket.next(of(made, 'changed'))
}, 60_000)
