/** Commands of the agent's shell. What shows their output is loaded when the first row is opened. */
import { lazy, Suspense } from 'react'
import { SquareTerminal } from '../../ui/icons.ts'
import { numberOf, textOf } from '../../log/read.ts'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import type { ToolView } from './view.ts'

const TerminalBody = lazy(async () => ({ default: (await import('./terminal-body.tsx')).TerminalBody }))

const commandOf = ({ action }: Call) => textOf(action['command'])

export const terminal: ToolView = {
  icon: SquareTerminal,
  summary: (call) => ({
    verb: call.action['is_input'] === true ? words.typed : call.status === 'running' ? words.runs : words.ran,
    object: commandOf(call) || words.nothing,
    isCode: true,
    facts: <Exit call={call} />,
  }),
  Body: ({ call }) => (
    <Suspense>
      <TerminalBody call={call} />
    </Suspense>
  ),
}

function Exit({ call }: { call: Call }) {
  if (call.observation['timeout'] === true) return <span className="bad">{words.timedOut}</span>
  const code = numberOf(call.observation['exit_code'])
  if (code === null || code === 0) return null
  return <span className={code === -1 ? '' : 'bad'}>{code === -1 ? words.stillRunning : words.exit(code)}</span>
}
