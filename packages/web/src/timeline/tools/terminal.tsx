/** Commands of the agent's shell. */
import { SquareTerminal } from '../../ui/icons.ts'
import { numberOf, textOf, membersOf } from '../../log/read.ts'
import { Visible } from '../../approve/visible.tsx'
import { Output } from '../../text/output.tsx'
import { CopyButton } from '../../text/copy-button.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import type { Call } from '../call.ts'
import type { ToolView } from './view.ts'

const commandOf = ({ action }: Call) => textOf(action['command'])

export const terminal: ToolView = {
  icon: SquareTerminal,
  summary: (call) => ({
    verb: call.action['is_input'] === true ? words.typed : call.status === 'running' ? words.runs : words.ran,
    object: commandOf(call) || words.nothing,
    isCode: true,
    facts: <Exit call={call} />,
  }),
  Body: TerminalBody,
}

function Exit({ call }: { call: Call }) {
  if (call.observation['timeout'] === true) return <span className="bad">{words.timedOut}</span>
  const code = numberOf(call.observation['exit_code'])
  if (code === null || code === 0) return null
  return <span className={code === -1 ? '' : 'bad'}>{code === -1 ? words.stillRunning : words.exit(code)}</span>
}

function TerminalBody({ call }: { call: Call }) {
  const directory = textOf(membersOf(call.observation['metadata'])['working_dir'])
  return (
    <div className="tool-terminal">
      <div className="command">
        <pre>
          <span className="prompt" aria-hidden>
            ${' '}
          </span>
          <Visible text={commandOf(call)} />
        </pre>
        <CopyButton text={commandOf(call)} label={words.copyCommand} />
      </div>
      {call.output === '' ? null : <Output text={call.output} label={words.outputOf(commandOf(call))} />}
      {directory === '' ? null : <p className="note">{words.inDirectory(directory)}</p>}
    </div>
  )
}
