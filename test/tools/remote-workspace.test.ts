/** The file tools in a workspace on another agent server. */
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openTestNotes } from '../../packages/server/testing/call-notes.ts'
import { createTools } from '../../packages/server/src/tools/index.ts'
import { never, openRemoteTestWorkspaces } from '../../packages/server/src/workspace/remote/bench.testing.ts'

test('search, patch and plan work on another server as they do locally, and a browser is refused', async () => {
  await using bench = await openRemoteTestWorkspaces()
  await using notes = await openTestNotes()
  const id = asConversationId('5e000000-0000-4000-8000-000000000009')
  const workspace = await bench.open(id)
  const services = { notes: await notes.of(id) }
  const names = ['grep', 'glob', 'apply_patch', 'planning_file_editor', 'browser_tool_set']
  const tools = createTools({
    tools: names.map((name) => ({ name, params: {} })),
    include_default_tools: [],
    filter_tools_regex: null,
  })
  let calls = 0
  const call = async (name: string, args: Record<string, unknown>) => {
    const tool = tools.get(name)!
    const dataDir = bench.dir.file('own')
    const context = { conversationId: id, callId: `call-${++calls}`, workspace, dataDir, services }
    return (await tool.execute(tool.parse(args), { ...context, secretsFor: async () => ({}), signal: never })) as any
  }
  const put = async (name: string, text: string) => {
    await mkdir(dirname(join(bench.work, name)), { recursive: true })
    await writeFile(join(bench.work, name), text)
  }
  await put('src/a b.ts', "it's a Needle\n")
  await put('run.sh', 'echo hi\n')
  await chmod(join(bench.work, 'run.sh'), 0o755)

  expect(await call('grep', { pattern: "'s a needle" })).toMatchObject({ matches: [join(bench.work, 'src/a b.ts')] })
  expect(await call('glob', { pattern: 'src/*.ts' })).toMatchObject({ files: [join(bench.work, 'src/a b.ts')] })
  expect(await call('grep', { pattern: '(' })).toMatchObject({ is_error: true })

  const lines = [
    '*** Begin Patch',
    '*** Update File: run.sh',
    '*** Move to: bin/run.sh',
    '-echo hi',
    '+echo ho',
    '*** End Patch',
  ]
  expect(await call('apply_patch', { patch: lines.join('\n') })).toMatchObject({ is_error: false })
  expect(await readFile(join(bench.work, 'bin/run.sh'), 'utf8')).toBe('echo ho\n')
  expect((await stat(join(bench.work, 'bin/run.sh'))).mode & 0o777).toBe(0o755)
  const outside = '*** Begin Patch\n*** Add File: ../x\n+x\n*** End Patch'
  expect(await call('apply_patch', { patch: outside })).toMatchObject({ is_error: true })

  const plan = join(bench.work, '.agents_tmp/PLAN.md')
  const edit = { command: 'insert', path: plan, insert_line: 1, new_str: 'Win.' }
  expect(await call('planning_file_editor', edit)).toMatchObject({ is_error: false })
  expect(await readFile(plan, 'utf8')).toContain('Objective\nWin.\n')

  const refused = await call('browser_navigate', { url: 'http://x.test' })
  expect(refused).toMatchObject({ is_error: true, content: [{ text: expect.stringContaining('open pipes') }] })
}, 60_000)
