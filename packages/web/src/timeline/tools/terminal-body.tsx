/** A command with its output: what it has written so far while it runs, then its stored result in the same lines. */
import { useEffect, useSyncExternalStore } from 'react'
import { Visible } from '../../approve/visible.tsx'
import { membersOf, textOf } from '../../log/read.ts'
import { AnsiOutput } from '../../text/ansi.tsx'
import { CopyButton } from '../../text/copy-button.tsx'
import { conversation as words } from '../../words/conversation.en.ts'
import { liveOutput } from '../../words/live-output.en.ts'
import type { Call } from '../call.ts'
import { useView } from '../context.ts'

/** Lines of a row that opened by itself. */
const BRIEF_LINES = 12

export function TerminalBody({ call }: { call: Call }) {
  const { conversation, rows } = useView()
  const { id } = call.event
  const live = useSyncExternalStore(conversation.log.subscribe, () => conversation.log.output(id))
  const command = textOf(call.action['command'])
  const directory = textOf(membersOf(call.observation['metadata'])['working_dir'])
  const shown = call.status === 'running' && live !== undefined ? live : { text: call.output, skipped: 0 }
  return (
    <div className="tool-terminal">
      <div className="command">
        <pre>
          <span className="prompt" aria-hidden>
            ${' '}
          </span>
          <Visible text={command} />
        </pre>
        <CopyButton text={command} label={words.copyCommand} />
      </div>
      {shown.skipped > 0 ? <p className="note">{liveOutput.skipped}</p> : null}
      {shown.text === '' ? null : (
        <AnsiOutput
          text={shown.text}
          label={words.outputOf(command)}
          first={rows.isBrief(id) ? BRIEF_LINES : undefined}
        />
      )}
      {directory === '' ? null : <p className="note">{words.inDirectory(directory)}</p>}
    </div>
  )
}

/** Milliseconds from the first output to the opening: the row of a short command stays closed. */
const AFTER_MS = 1_000

/** Opens the row of a command that has been writing for a while, unless a person has opened or closed it. */
export function OpenLong({ rowKey, actionId }: { rowKey: string; actionId: string }) {
  const { rows } = useView()
  useEffect(() => {
    const timer = setTimeout(() => rows.openBriefly(rowKey, actionId), AFTER_MS)
    return () => clearTimeout(timer)
  }, [rows, rowKey, actionId])
  return null
}
