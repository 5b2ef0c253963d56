/** The list of conversations of the conversation service API. Source: conversation-service.md 2. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGitServer } from '../../packages/server/testing/git-server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import type { Loose } from '../../packages/server/testing/multi-user-server.ts'
import { finish, serveAnn, type Ann } from '../../packages/server/testing/conversation-starts.ts'

let stack: AsyncDisposableStack
let ann: Ann
/** Ids by kind of conversation, in the order of creation. */
const made: Record<'plain' | 'shop' | 'task' | 'child', string> = { plain: '', shop: '', task: '', child: '' }

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const git = stack.use(await startGitServer())
  await git.add('acme/shop')
  const model = stack.use(await startScriptedModel({ by: 'turn', answers: [finish] }))
  ann = stack.use(await serveAnn(dir.file('data'), { git, model }))
  const begin = async (body: object) => (await ann.begin(body)).conversation_id as string
  made.plain = await begin({})
  made.shop = await begin({ repository: 'acme/shop', git_provider: 'gitlab' })
  const suggested_task = { git_provider: 'gitlab', task_type: 'OPEN_ISSUE', repo: 'acme/shop', issue_number: 7 }
  made.task = await begin({ suggested_task: { ...suggested_task, title: 'Mend it' } })
  const { working_dir } = (await ann.call('GET', `/api/conversations?ids=${made.plain}`)).json[0].workspace
  const child = await ann.call('POST', '/api/conversations', {
    workspace: { working_dir },
    agent: { llm: { model: 'openai/scripted', usage_id: 'agent' } },
    parent_conversation_id: made.plain,
  })
  made.child = child.json.id
}, 120_000)
afterAll(() => stack.disposeAsync())

const list = async (query = '') => (await ann.call('GET', `/api/conversations${query}`)).json
const idsOf = ({ results }: Loose): string[] => results.map(({ conversation_id }: Loose) => conversation_id)

test('the list of conversations is newest first, in the form of the status, with sub-conversations only on request', async () => {
  const page = await list()
  expect(Object.keys(page)).toEqual(['results', 'next_page_id'])
  expect(page.next_page_id).toBeNull()
  expect(idsOf(page)).toEqual([made.task, made.shop, made.plain])
  expect(page.results[1]).toEqual(await ann.progress(made.shop))
  expect(page.results[1]).toMatchObject({ status: 'RUNNING', selected_repository: 'acme/shop', git_provider: 'gitlab' })
  expect(page.results[2].sub_conversation_ids).toEqual([made.child])
  const all = await list('?include_sub_conversations=true')
  expect(idsOf(all)).toEqual([made.child, made.task, made.shop, made.plain])
})

test('pages of the list contain all conversations, also after the deletion of the first one of a page', async () => {
  const first = await list('?limit=1')
  expect(idsOf(first)).toEqual([made.task])
  const second = await list(`?limit=1&page_id=${first.next_page_id}`)
  expect(idsOf(second)).toEqual([made.shop])
  const third = await list(`?limit=1&page_id=${second.next_page_id}`)
  expect([idsOf(third), third.next_page_id]).toEqual([[made.plain], null])

  // Only the node that has answered the page knows the position of a deleted conversation.
  if (!isOneNode) return
  const extra = (await ann.begin({})).conversation_id
  const newest = (await ann.begin({})).conversation_id
  const page = await list('?limit=1')
  expect(idsOf(page)).toEqual([newest])
  await ann.call('DELETE', `/api/conversations/${extra}`)
  expect(idsOf(await list(`?limit=1&page_id=${page.next_page_id}`))).toEqual([made.task])
  await ann.call('DELETE', `/api/conversations/${newest}`)
})

test('the list of conversations is filtered by repository and by trigger', async () => {
  expect(idsOf(await list('?selected_repository=acme/shop'))).toContain(made.shop)
  expect(idsOf(await list('?selected_repository=acme/shop'))).not.toContain(made.plain)
  expect(idsOf(await list('?selected_repository=nobody/nothing'))).toEqual([])
  expect(idsOf(await list('?conversation_trigger=suggested_task'))).toEqual([made.task])
  expect(idsOf(await list('?conversation_trigger=slack'))).toEqual([])
  // The task is newer and belongs to no repository.
  expect(idsOf(await list('?limit=1&selected_repository=acme/shop'))).toEqual([made.shop])
})

test('the list contains own and received conversations of the user, and none of other users', async () => {
  const told = {
    id: randomUUID(),
    title: 'Elsewhere',
    workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
    agent: { kind: 'Agent', llm: { model: 'some/model', usage_id: 'agent' } },
    created_at: '2026-03-01T10:00:00Z',
    updated_at: '2026-03-01T10:00:00Z',
  }
  expect((await ann.asBob('POST', '/api/v1/webhooks/conversations', told)).status).toBe(200)
  const own = (await ann.asBob('POST', '/api/conversations', {})).json.conversation_id
  const page = (await ann.asBob('GET', '/api/conversations')).json
  expect(idsOf(page).toSorted()).toEqual([own, told.id].toSorted())
  const elsewhere = page.results.find(({ title }: Loose) => title === 'Elsewhere')
  expect(elsewhere).toMatchObject({ status: 'RUNNING', execution_status: 'idle', num_connections: 0 })
  expect(elsewhere).toMatchObject({ created_at: '2026-03-01T10:00:00.000Z', phase: null })
  expect(idsOf(await list())).not.toContain(told.id)
})

test.each([
  'limit=0',
  'limit=101',
  'limit=x',
  'conversation_trigger=carrier_pigeon',
  'include_sub_conversations=perhaps',
])('the list with %s is refused, naming the member', async (query) => {
  const { status, json } = await ann.call('GET', `/api/conversations?${query}`)
  expect([status, json.detail[0].loc]).toEqual([422, ['query', query.split('=')[0]]])
})

test('the list and the request with ids are both documented under one path', async () => {
  const { get } = (await ann.call('GET', '/openapi.json')).json.paths['/api/conversations']
  expect(get.parameters.map(({ name }: Loose) => name)).toEqual(
    expect.arrayContaining(['ids', 'limit', 'page_id', 'selected_repository', 'conversation_trigger']),
  )
  const { anyOf } = get.responses['200'].content['application/json'].schema
  expect(anyOf).toEqual([
    { type: 'array', items: expect.anything() },
    { $ref: '#/components/schemas/ConversationProgressPage' },
  ])
})
