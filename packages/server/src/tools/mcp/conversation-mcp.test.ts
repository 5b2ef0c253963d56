import { testFetch } from '../../../testing/requests.ts'
import { asConversationId, MCPServers } from '@parley/protocol'
import { expect, test } from 'vitest'
import { faultyServer, startsIn } from '../../../testing/mcp/servers.ts'
import { tempDir } from '../../../testing/temp.ts'
import { fullMatch } from '../../security/index.ts'
import { openLocalWorkspaces } from '../../workspace/index.ts'
import { openConversationMcp } from './conversation-mcp.ts'
import { testRoots } from '../../../testing/roots.ts'

const never = new AbortController().signal

async function namesOfTwo(isSandboxed: boolean, filter_tools_regex: string | null = null) {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const workspaces = stack.use(
    openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')), idleExitMs: 500 }),
  )
  const log = { warn: () => undefined }
  const loadFullMatch = async () => fullMatch
  const mcp = stack.use(
    openConversationMcp({ workspaces, trusted: [], isSandboxed, fetch: testFetch, loadFullMatch, log }),
  )
  const journal = dir.file('journal')
  const agent = { mcp_config: MCPServers.parse({ odd: faultyServer('fine', journal) }), filter_tools_regex }
  const names: string[][] = []
  for (const id of ['c1', 'c2']) {
    const user = { id: asConversationId(id), owner: 'ann', epoch: 1, workspace: { working_dir: dir.file('work') } }
    const source = await mcp.toolsOf(agent, { ...user, remote: null }, async () => ({}))
    stack.use(source!)
    await source!.prepare(never)
    names.push(source!.tools(new Set()).map(({ name }) => name))
  }
  return { names, started: (await startsIn(journal)).length }
}

test('without a sandbox conversations of one owner in one directory share a server', async () => {
  const { names, started } = await namesOfTwo(false)
  expect(started).toBe(1)
  expect(names[0]).toContain('say_kind')
  expect(names[1]).toEqual(names[0])
})

test('with a sandbox each conversation has servers of its own', async () => {
  expect((await namesOfTwo(true)).started).toBe(2)
})

test("the agent's filter applies to the names of tools", async () => {
  expect((await namesOfTwo(false, 'where|wait')).names[0]?.toSorted()).toEqual(['wait', 'where'])
})

test('an agent without an enabled server has no tools of servers', async () => {
  await using dir = await tempDir()
  await using workspaces = openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')) })
  const loadFullMatch = () => Promise.reject(new Error('not needed'))
  const deps = {
    workspaces,
    trusted: [],
    isSandboxed: false,
    fetch: testFetch,
    loadFullMatch,
    log: { warn: () => undefined },
  }
  await using mcp = openConversationMcp(deps)
  const agent = {
    mcp_config: MCPServers.parse({ odd: { ...faultyServer(), enabled: false } }),
    filter_tools_regex: null,
  }
  const user = {
    id: asConversationId('c1'),
    owner: 'ann',
    epoch: 1,
    workspace: { working_dir: dir.path },
    remote: null,
  }
  expect(await mcp.toolsOf(agent, user, async () => ({}))).toBeUndefined()
})
