/** The open rows of tools that many logs have few of. */
import { Circle, CircleCheck, CircleDot } from '../../ui/icons.ts'
import { textOf } from '../../log/read.ts'
import { Markdown } from '../../text/markdown.tsx'
import { Output } from '../../text/output.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import { argumentsOf, tasksOf } from './arguments.ts'
import { Json } from './json.tsx'

type Shown = { call: Call }

export const ArgumentsBody = ({ call }: Shown) => (
  <>
    <Json value={argumentsOf(call)} label={words.argumentsOf(call.tool)} />
    {call.output === '' ? null : <Output text={call.output} label={words.resultOf(call.tool)} />}
  </>
)

export const SubAgentBody = ({ call }: Shown) => (
  <>
    {textOf(call.action['prompt']) === '' ? (
      <Json value={argumentsOf(call)} label={words.argumentsOf(call.tool)} />
    ) : (
      <Markdown text={textOf(call.action['prompt'])} />
    )}
    {call.output === '' ? null : (
      <div className="result">
        <Markdown text={call.output} />
      </div>
    )}
  </>
)

const STATUS = { todo: Circle, in_progress: CircleDot, done: CircleCheck } as const
type Status = keyof typeof STATUS
const statusOf = (value: unknown): Status => (value === 'done' || value === 'in_progress' ? value : 'todo')

export const TasksBody = ({ call }: Shown) => (
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
)

export function BrowserBody({ call }: Shown) {
  const data = textOf(call.observation['screenshot_data'])
  const image = data === '' || data.startsWith('data:') ? data : `data:image/png;base64,${data}`
  return (
    <>
      {/^data:image\/(?:png|jpeg|webp);base64,/.test(image) ? (
        <img className="screenshot" src={image} alt={words.screenshot} />
      ) : null}
      {call.output === '' ? null : <Output text={call.output} label={words.resultOf(call.tool)} />}
    </>
  )
}
