/** The agent's list of tasks. */
import { ListTodo } from '../../ui/icons.ts'
import { textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import { tasksOf } from './arguments.ts'
import { lazyBody } from './lazy-body.tsx'
import type { ToolView } from './view.ts'

export const tasks: ToolView = {
  icon: ListTodo,
  summary: (call) => {
    const all = tasksOf(call)
    const current = all.find(({ status }) => status === 'in_progress')
    return {
      verb: call.action['command'] === 'view' ? words.viewedTasks : words.plannedTasks,
      object: textOf(current?.['title']),
      facts: words.tasksDone(all.filter(({ status }) => status === 'done').length, all.length),
    }
  },
  Body: lazyBody('TasksBody'),
}
