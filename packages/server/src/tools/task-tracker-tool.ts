import { TaskItem, TaskTrackerAction, textContent } from '@parley/protocol'
import { z } from 'zod'
import type { ConversationFiles } from '../workspace/index.ts'
import { defineTool } from './define.ts'
import type { Tool, ToolContext } from './tool.ts'

const FILE = 'TASKS.json'
const MARKS = { todo: '[ ]', in_progress: '[~]', done: '[x]' } satisfies Record<TaskItem['status'], string>

/**
 * A task list that survives condensation of the context: `plan` replaces it, `view` shows it. Source: agent-core.md
 * 8.4.
 */
export function taskTrackerTool(): Tool {
  return defineTool<TaskTrackerAction>({
    kind: 'TaskTracker',
    name: 'task_tracker',
    description:
      'A list of tasks, for work of several steps: write it first, keep exactly one task in progress, and mark a task done as ' +
      'soon as it is. `plan` replaces the whole list by task_list; `view` shows it.',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', enum: ['view', 'plan'], default: 'view' },
        task_list: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              title: { type: 'string' },
              notes: { type: 'string' },
              status: { type: 'string', enum: ['todo', 'in_progress', 'done'], default: 'todo' },
            },
            required: ['title'],
          },
        },
      },
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    parse: (args) => TaskTrackerAction.parse({ ...args, kind: 'TaskTrackerAction' }),
    async execute({ command, task_list }, context) {
      const files = filesOf(context)
      if (command === 'plan') await files.write(FILE, JSON.stringify(task_list))
      const tasks = command === 'plan' ? task_list : await read(files)
      const message =
        command === 'plan' ? `Task list has been updated with ${tasks.length} item(s).` : taskListText(tasks)
      return {
        kind: 'TaskTrackerObservation',
        content: [textContent(message)],
        is_error: false,
        command,
        task_list: tasks,
      }
    },
  })
}

/** Shows a task list to the model. */
export function taskListText(tasks: readonly TaskItem[]): string {
  if (tasks.length === 0) return 'There is no task list yet. Use the command plan to write one.'
  const rows = tasks.map(({ title, notes, status }, index) => {
    const indented = notes.trim() === '' ? '' : `\n   ${notes.trim().replaceAll('\n', '\n   ')}`
    return `${index + 1}. ${MARKS[status]} ${title}${indented}`
  })
  return `The task list:\n${rows.join('\n')}`
}

function filesOf({ services }: ToolContext): ConversationFiles {
  if (services?.files === undefined) throw new Error('the task tracker has no files to keep its list in')
  return services.files
}

/** A missing or damaged list counts as empty: the agent can write a new one. */
async function read(files: ConversationFiles): Promise<TaskItem[]> {
  const text = (await files.read(FILE)) ?? '[]'
  try {
    return z.array(TaskItem).parse(JSON.parse(text))
  } catch {
    return []
  }
}
