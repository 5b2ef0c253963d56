import { asConversationId, type TaskTrackerObservation } from '@parley/protocol'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../testing/disk-workspace.ts'
import { conversation } from '../../testing/store-fixtures.ts'
import { tempDir } from '../../testing/temp.ts'
import { openCipher } from '../secrets/index.ts'
import { openSqlite } from '../storage/index.ts'
import { openConversationFiles, type ConversationFiles } from '../workspace/index.ts'
import { finishTool } from './finish-tool.ts'
import { taskTrackerTool } from './task-tracker-tool.ts'
import { thinkTool } from './think-tool.ts'
import type { Tool } from './tool.ts'

const ID = asConversationId('00000000-0000-4000-8000-000000000000')

/** A conversation with files in a store, and its folder. */
async function openPlace() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const storage = stack.use(await openSqlite({ path: ':memory:' }))
  await storage.conversations.create(conversation({ id: ID }))
  const cipher = await openCipher({ keyText: 'key of the test', keyFile: '', salt: '' })
  const files = openConversationFiles({ files: storage.files, cipher, folderOf: () => dir.path })({ id: ID, epoch: 0 })
  const open = stack.move()
  return { dir, files, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function execute(tool: Tool, args: Record<string, unknown>, files?: ConversationFiles) {
  const observation = await tool.execute(tool.parse(args), {
    conversationId: ID,
    callId: 'call',
    workspace: diskWorkspace('/nowhere'),
    dataDir: '/nowhere',
    secretsFor: () => Promise.resolve({}),
    ...(files === undefined ? {} : { services: { files } }),
    signal: new AbortController().signal,
  })
  const [first] = observation.content
  return { observation, text: first?.type === 'text' ? first.text : '' }
}

test('finish returns its message, and think confirms that the thought was logged', async () => {
  expect(await execute(finishTool(), { message: 'done' })).toMatchObject({
    text: 'done',
    observation: { kind: 'FinishObservation' },
  })
  expect((await execute(thinkTool(), { thought: 'hm' })).text).toBe('Your thought has been logged.')
})

test('a task list is replaced as a whole and survives the tool', async () => {
  await using at = await openPlace()
  expect((await execute(taskTrackerTool(), {}, at.files)).text).toMatch(/no task list yet/)
  const task_list = [
    { title: 'read', status: 'done' },
    { title: 'write', notes: 'two\nlines', status: 'in_progress' },
    { title: 'rest' },
  ]
  expect((await execute(taskTrackerTool(), { command: 'plan', task_list }, at.files)).text).toBe(
    'Task list has been updated with 3 item(s).',
  )
  const { observation, text } = await execute(taskTrackerTool(), { command: 'view' }, at.files)
  expect(text).toBe('The task list:\n1. [x] read\n2. [~] write\n   two\n   lines\n3. [ ] rest')
  expect((observation as TaskTrackerObservation).task_list).toHaveLength(3)
})

test('a damaged task list counts as empty', async () => {
  await using at = await openPlace()
  await at.files.write('TASKS.json', '{"half":')
  expect((await execute(taskTrackerTool(), { command: 'view' }, at.files)).observation).toMatchObject({
    is_error: false,
    task_list: [],
  })
})

test('a task list that version 0.1.0 kept in a file is shown', async () => {
  await using at = await openPlace()
  const list = [{ title: 'from before', notes: '', status: 'todo' }]
  await writeFile(at.dir.file('TASKS.json'), JSON.stringify(list, null, 2))
  expect((await execute(taskTrackerTool(), { command: 'view' }, at.files)).text).toContain('[ ] from before')
  expect((await execute(taskTrackerTool(), { command: 'view' }, at.files)).text).toContain('[ ] from before')
})
