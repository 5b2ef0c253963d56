import { asConversationId, type TaskTrackerObservation } from '@parley/protocol'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../testing/disk-workspace.ts'
import { tempDir } from '../../testing/temp.ts'
import { finishTool } from './finish-tool.ts'
import { taskTrackerTool } from './task-tracker-tool.ts'
import { thinkTool } from './think-tool.ts'
import type { Tool } from './tool.ts'

async function execute(tool: Tool, args: Record<string, unknown>, dataDir: string) {
  const observation = await tool.execute(tool.parse(args), {
    conversationId: asConversationId('00000000-0000-4000-8000-000000000000'),
    callId: 'call',
    workspace: diskWorkspace(dataDir),
    dataDir,
    secretsFor: () => Promise.resolve({}),
    signal: new AbortController().signal,
  })
  const [first] = observation.content
  return { observation, text: first?.type === 'text' ? first.text : '' }
}

test('finish returns its message, and think confirms that the thought was logged', async () => {
  expect(await execute(finishTool(), { message: 'done' }, '/nowhere')).toMatchObject({
    text: 'done',
    observation: { kind: 'FinishObservation' },
  })
  expect((await execute(thinkTool(), { thought: 'hm' }, '/nowhere')).text).toBe('Your thought has been logged.')
})

test('a task list is replaced as a whole and survives the tool', async () => {
  await using dir = await tempDir()
  const data = dir.file('not', 'yet', 'there')
  expect((await execute(taskTrackerTool(), {}, data)).text).toMatch(/no task list yet/)
  const task_list = [
    { title: 'read', status: 'done' },
    { title: 'write', notes: 'two\nlines', status: 'in_progress' },
    { title: 'rest' },
  ]
  expect((await execute(taskTrackerTool(), { command: 'plan', task_list }, data)).text).toBe(
    'Task list has been updated with 3 item(s).',
  )
  const { observation, text } = await execute(taskTrackerTool(), { command: 'view' }, data)
  expect(text).toBe('The task list:\n1. [x] read\n2. [~] write\n   two\n   lines\n3. [ ] rest')
  expect((observation as TaskTrackerObservation).task_list).toHaveLength(3)
})

test('a damaged task list counts as empty', async () => {
  await using dir = await tempDir()
  await writeFile(dir.file('TASKS.json'), '{"half":')
  expect((await execute(taskTrackerTool(), { command: 'view' }, dir.path)).observation).toMatchObject({
    is_error: false,
    task_list: [],
  })
})
