import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asConversationId, asEventId, type ActionEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { openTestWorkspaces, never } from '../../workspace/workspace.testing.ts'
import type { ToolContext } from '../tool.ts'
import { PlanningEditorParams, planningEditorTool } from './planning-editor-tool.ts'

async function world(params: object = {}) {
  const own = await openTestWorkspaces()
  const workspace = await own.open()
  const tool = planningEditorTool(PlanningEditorParams.parse(params))
  const notes = await openTestNotes()
  const services = { notes: await notes.of(asConversationId('c1')) }
  let calls = 0
  const context = (): ToolContext => ({
    conversationId: asConversationId('c1'),
    callId: `call-${++calls}`,
    workspace,
    dataDir: own.dir.file('own'),
    secretsFor: () => Promise.resolve({}),
    services,
    signal: never,
  })
  return {
    dir: own.dir,
    tool,
    workspace,
    at: (...name: string[]) => join(workspace.workingDir, ...name),
    context,
    call: async (args: object) => {
      const found = (await tool.execute(tool.parse({ ...args }), context())) as any
      return { ...found, text: found.content[0].text as string }
    },
    async [Symbol.asyncDispose]() {
      await notes[Symbol.asyncDispose]()
      await own[Symbol.asyncDispose]()
    },
  }
}

test('the plan has its headings, and can be written, viewed and undone', async () => {
  await using the = await world()
  const path = the.at('.agents_tmp', 'PLAN.md')
  const seen = await the.call({ command: 'view', path })
  expect(seen).toMatchObject({ kind: 'PlanningFileEditorObservation', is_error: false })
  for (const heading of ['Objective', 'Context summary', 'Approach overview', 'Implementation steps', 'Testing'])
    expect(seen.text).toContain(heading)
  expect(await the.call({ command: 'insert', path, insert_line: 1, new_str: 'Win.' })).toMatchObject({
    is_error: false,
  })
  expect(await readFile(path, 'utf8')).toMatch(/^# 1\. Objective\nWin\.\n/)
  await the.call({ command: 'undo_edit', path })
  expect(await readFile(path, 'utf8')).not.toContain('Win.')
})

test('every file can be viewed, and only the plan changed', async () => {
  await using the = await world()
  await writeFile(the.at('a.txt'), 'hello\n')
  expect(await the.call({ command: 'view', path: the.at('a.txt') })).toMatchObject({ is_error: false })
  for (const args of [
    { command: 'str_replace', path: the.at('a.txt'), old_str: 'hello', new_str: 'x' },
    { command: 'create', path: the.at('b.txt'), file_text: 'x' },
    { command: 'undo_edit', path: the.at('a.txt') },
    { command: 'create', path: the.at('.agents_tmp/PLAN.md/../b'), file_text: 'x' },
  ]) {
    const refused = await the.call(args)
    expect(refused).toMatchObject({ is_error: true, old_content: null })
    expect(refused.text).toContain(`Operation not allowed: only ${the.at('.agents_tmp', 'PLAN.md')} can be changed`)
  }
  expect(await readFile(the.at('a.txt'), 'utf8')).toBe('hello\n')
})

test('a plan that an earlier version left at the root is reused', async () => {
  await using the = await world()
  await writeFile(the.at('PLAN.md'), 'old plan\n')
  expect(
    await the.call({ command: 'str_replace', path: the.at('PLAN.md'), old_str: 'old', new_str: 'new' }),
  ).toMatchObject({ is_error: false })
  expect(await readFile(the.at('PLAN.md'), 'utf8')).toBe('new plan\n')
})

test('the plan may have another path, which must be absolute', async () => {
  await using the = await world()
  const path = the.dir.file('elsewhere', 'plan.md')
  const tool = planningEditorTool(PlanningEditorParams.parse({ plan_path: path }))
  await tool.execute(tool.parse({ command: 'insert', path, insert_line: 0, new_str: 'x' }), the.context())
  expect(await readFile(path, 'utf8')).toMatch(/^x\n# 1/)
  expect(() => PlanningEditorParams.parse({ plan_path: 'plan.md' })).toThrow('must be absolute')
})

test('a plan that is a symlink to another file is not written through', async () => {
  await using the = await world()
  await mkdir(the.at('.agents_tmp'))
  await writeFile(the.at('a.txt'), 'hello\n')
  await symlink('../a.txt', the.at('.agents_tmp', 'PLAN.md'))
  const refused = await the.call({
    command: 'insert',
    path: the.at('.agents_tmp/PLAN.md'),
    insert_line: 0,
    new_str: 'x',
  })
  expect(refused).toMatchObject({ is_error: true })
  expect(await readFile(the.at('a.txt'), 'utf8')).toBe('hello\n')
})

test('an edit that took place before the server died is reported as done', async () => {
  await using the = await world()
  const path = the.at('.agents_tmp', 'PLAN.md')
  const args = { command: 'insert', path, insert_line: 0, new_str: 'x' }
  const context = the.context()
  await the.tool.execute(the.tool.parse(args), context)
  const event = { id: asEventId(context.callId), action: the.tool.parse(args) } as ActionEvent
  expect(await the.tool.recover(event, { state: 'absent' }, context)).toMatchObject({
    kind: 'done',
    observation: { kind: 'PlanningFileEditorObservation', new_content: expect.stringMatching(/^x\n/) },
  })
})
