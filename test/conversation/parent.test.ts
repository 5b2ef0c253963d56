/** Whom a new conversation may name as its parent, and what an id that is there already comes to. Source: agent-server-wire.md 1.4. */
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bench, git, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
let parent: string
beforeAll(async () => {
  server = await startBench()
  parent = (await start()).body.id
})
afterAll(() => server[Symbol.asyncDispose]())

const agent = { llm: { model: 'scripted/none' } }
const start = (members: object = {}, headers = {}) =>
  server.call(
    'POST',
    '/api/conversations',
    { workspace: { working_dir: server.dir.file('work') }, agent, ...members },
    headers,
  )
const read = async (id: string) => (await server.call('GET', `/api/conversations/${id}`)).body
const count = async (headers = {}) =>
  (await server.call('GET', '/api/conversations/count', undefined, headers)).body as number

describe('a parent', () => {
  const refused = async (members: object, headers = {}) => {
    const before = await count(headers)
    const { status, body } = await start(members, headers)
    expect([status, await count(headers)]).toEqual([422, before])
    return body.detail[0].msg as string
  }

  test('a parent with the same directory is accepted and lists its child', async () => {
    const child = await start({ parent_conversation_id: parent })
    expect([child.status, child.body.parent_conversation_id]).toEqual([201, parent])
    expect((await read(parent)).sub_conversation_ids).toContain(child.body.id)
    const below = await start({ parent_conversation_id: child.body.id })
    expect(below.status).toBe(201)
    const fork = await server.call('POST', `/api/conversations/${child.body.id}/fork`, {})
    expect([fork.status, fork.body.parent_conversation_id]).toEqual([201, parent])
  })

  test('an unknown parent, or the conversation itself as its parent, is refused', async () => {
    const id = randomUUID()
    expect(await refused({ parent_conversation_id: id })).toContain(id)
    expect(await refused({ parent_conversation_id: id, conversation_id: id })).toContain('own parent')
  })

  test('a parent of another user is reported as unknown', async () => {
    const before = (await read(parent)).sub_conversation_ids
    const foreign = await refused({ parent_conversation_id: parent }, server.bob)
    const none = randomUUID()
    const unknown = await refused({ parent_conversation_id: none }, server.bob)
    expect(foreign.replace(parent, none)).toBe(unknown)
    expect((await read(parent)).sub_conversation_ids).toEqual(before)
  })

  test('a parent with another directory is refused', async () => {
    const elsewhere = { workspace: { working_dir: server.dir.file('elsewhere') }, parent_conversation_id: parent }
    expect(await refused(elsewhere)).toContain('a different workspace')
  })

  test('a relative working_dir is answered as an absolute path, and is the same directory for a child', async () => {
    const path = relative(process.cwd(), server.dir.file('work'))
    const child = await start({ workspace: { working_dir: path }, parent_conversation_id: parent })
    expect([child.status, child.body.workspace?.working_dir]).toEqual([201, server.dir.file('work')])
  })

  test('a parent that descends from the conversation is refused, also after the conversation was deleted', async () => {
    const top = randomUUID()
    await start({ conversation_id: top })
    const middle = (await start({ parent_conversation_id: top })).body.id
    const lowest = (await start({ parent_conversation_id: middle })).body.id
    await server.call('DELETE', `/api/conversations/${top}`)
    expect(await refused({ conversation_id: top, parent_conversation_id: lowest })).toContain('comes from')
    expect((await start({ conversation_id: top })).status).toBe(201)
  })

  test('a parent in the repository of a worktree counts as the same directory', async () => {
    const root = server.dir.file('shop')
    mkdirSync(root)
    await git(root, 'init', '-q')
    await git(root, 'commit', '-q', '--allow-empty', '-m', 'a')
    const workspace = { working_dir: root }
    const above = (await start({ workspace })).body.id
    const child = await start({ workspace, worktree: true, parent_conversation_id: above })
    expect([child.status, child.body.workspace.working_dir]).toEqual([201, expect.not.stringContaining(root)])
  })
})

describe('an id that is there already', () => {
  test('an existing id returns its conversation, whatever else the body contains', async () => {
    const conversation_id = randomUUID()
    const made = await start({ conversation_id, max_iterations: 5 })
    const before = await count()
    const others = [
      { max_iterations: 9, tags: { a: 'b' } },
      { agent: null, agent_profile_id: randomUUID() },
      { parent_conversation_id: randomUUID() },
      { worktree: true, initial_message: { role: 'user', content: [{ type: 'text', text: 'Hello' }] } },
    ]
    for (const other of others) {
      const again = await start({ conversation_id, ...other })
      expect([again.status, again.body]).toEqual([200, { ...made.body, updated_at: expect.any(String) }])
    }
    expect(await count()).toBe(before)
    const events = await server.call('GET', `/api/conversations/${conversation_id}/events/search`)
    expect(events.body.items.filter(({ kind }: { kind: string }) => kind === 'MessageEvent')).toEqual([])
  })

  test('concurrent requests with one id create one conversation', async () => {
    const conversation_id = randomUUID()
    const asked = Array.from({ length: 10 }, (_, at) => start({ conversation_id, max_iterations: at + 1 }))
    const answers = await Promise.all(asked)
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array.from({ length: 9 }, () => 200), 201])
    expect(new Set(answers.map(({ body }) => body.max_iterations)).size).toBe(1)
  })

  test('an id of another user is reported as taken, without details', async () => {
    const answer = await start({ conversation_id: parent }, server.bob)
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([409, expect.not.stringContaining('working_dir')])
  })
})
