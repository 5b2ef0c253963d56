import { asConversationId, type TaskTrackerObservation } from '@parley/protocol'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../testing/disk-workspace.ts'
import { tempDir } from '../../testing/temp.ts'
import { finishTool } from './finish-tool.ts'
import { taskTrackerTool } from './task-tracker.ts'
import { thinkTool } from './think-tool.ts'
import type { Tool } from './tool.ts'

async function perform(tool: Tool, args: Record<string, unknown>, dataDir: string) {
  const observation = await tool.perform(tool.parse(args), {
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

test('finish says its message and think says that it was noted', async () => {
  expect(await perform(finishTool(), { message: 'done' }, '/nowhere')).toMatchObject({
    text: 'done',
    observation: { kind: 'FinishObservation' },
  })
  expect((await perform(thinkTool(), { thought: 'hm' }, '/nowhere')).text).toBe('Your thought has been logged.')
})

test('a task list is replaced as a whole and outlives the tool', async () => {
  await using dir = await tempDir()
  const data = dir.file('not', 'yet', 'there')
  expect((await perform(taskTrackerTool(), {}, data)).text).toMatch(/no task list yet/)
  const task_list = [
    { title: 'read', status: 'done' },
    { title: 'write', notes: 'two\nlines', status: 'in_progress' },
    { title: 'rest' },
  ]
  expect((await perform(taskTrackerTool(), { command: 'plan', task_list }, data)).text).toBe(
    'Task list has been updated with 3 item(s).',
  )
  const { observation, text } = await perform(taskTrackerTool(), { command: 'view' }, data)
  expect(text).toBe('The task list:\n1. [x] read\n2. [~] write\n   two\n   lines\n3. [ ] rest')
  expect((observation as TaskTrackerObservation).task_list).toHaveLength(3)
})

test('a damaged task list counts as empty', async () => {
  await using dir = await tempDir()
  await writeFile(dir.file('TASKS.json'), '{"half":')
  expect((await perform(taskTrackerTool(), { command: 'view' }, dir.path)).observation).toMatchObject({
    is_error: false,
    task_list: [],
  })
})
