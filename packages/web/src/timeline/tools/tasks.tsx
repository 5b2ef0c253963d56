/** The agent's list of tasks. */
import { CircleCheck, Circle, CircleDot, ListTodo } from '../../ui/icons.ts'
import { listOf, membersOf, textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import type { ToolView } from './view.ts'

const tasksOf = ({ action, observation }: Call) => {
  const list = listOf(observation['task_list'])
  return (list.length > 0 ? list : listOf(action['task_list'])).map(membersOf)
}
const STATUS = { todo: Circle, in_progress: CircleDot, done: CircleCheck } as const
type Status = keyof typeof STATUS
const statusOf = (value: unknown): Status => (value === 'done' || value === 'in_progress' ? value : 'todo')

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
  Body: ({ call }) => (
    <ul className="task-list">
      {tasksOf(call).map((task, index) => {
        const status = statusOf(task['status'])
        const Icon = STATUS[status]
        return (
          <li key={index} className={status}>
            <Icon size={14} aria-label={words.taskStatus[status]} />
            <span>
              {textOf(task['title'])}
              {textOf(task['notes']) === '' ? null : <span className="note"> {textOf(task['notes'])}</span>}
            </span>
          </li>
        )
      })}
    </ul>
  ),
}
