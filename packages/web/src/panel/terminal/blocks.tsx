/** One command with its output, of the agent or of the person. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Visible } from '../../approve/visible.tsx'
import { timeOf } from '../../log/read.ts'
import type { Row } from '../../log/rows.ts'
import { conversationPath } from '../../routes.ts'
import { AnsiOutput } from '../../text/ansi.tsx'
import { type Call, callOf } from '../../timeline/call.ts'
import { useEvent, useView } from '../../timeline/context.ts'
import { clockOf, durationOf, fullTimeOf } from '../../timeline/format.ts'
import { TerminalBody } from '../../timeline/tools/terminal-body.tsx'
import { terminal as words } from '../../words/terminal.en.ts'
import type { OwnCommand } from './own-commands.ts'

export function AgentBlock({ row }: { row: Row }) {
  const { conversation } = useView()
  const event = useEvent(row.seq)
  const answer = useEvent(row.answer)
  if (event === undefined) return <p className="note terminal-block">{words.notLoaded}</p>
  const call = callOf(event, answer)
  const at = timeOf(event.timestamp)
  return (
    <Block
      who={words.agent}
      time={
        <Link href={`${conversationPath(conversation.id, row.seq)}&panel=terminal`} title={fullTimeOf(at)}>
          {clockOf(at)}
        </Link>
      }
      outcome={outcomeOf(call)}
    >
      <TerminalBody call={call} />
    </Block>
  )
}

function outcomeOf({ status, observation, took }: Call): { text: string; isBad: boolean } {
  if (status === 'running') return { text: words.runs, isBad: false }
  const code = typeof observation['exit_code'] === 'number' ? observation['exit_code'] : 0
  const text = [code === 0 ? '' : code === -1 ? words.runs : words.exit(code), durationOf(took)].filter(Boolean)
  return { text: text.join(' · '), isBad: code > 0 }
}

export function OwnBlock({ own: { command, at, output, exitCode, problem } }: { own: OwnCommand }) {
  const text = problem !== '' ? '' : exitCode === null ? words.runs : exitCode === 0 ? '' : words.exit(exitCode)
  return (
    <Block
      who={words.you}
      time={<time title={fullTimeOf(at)}>{clockOf(at)}</time>}
      outcome={{ text, isBad: exitCode !== null && exitCode !== 0 }}
    >
      <div className="command">
        <pre>
          <span className="prompt" aria-hidden>
            ${' '}
          </span>
          <Visible text={command} />
        </pre>
      </div>
      {output !== '' && <AnsiOutput text={output} label={words.outputOf(command)} />}
      {problem !== '' && (
        <p className="problem" role="alert">
          {words.notAnswered(problem)}
        </p>
      )}
    </Block>
  )
}

type BlockProps = {
  who: string
  time: ReactNode
  outcome: { text: string; isBad: boolean }
  children: ReactNode
}

function Block({ who, time, outcome, children }: BlockProps) {
  return (
    <article className="terminal-block">
      <header>
        <span className={who === words.you ? 'terminal-you' : undefined}>{who}</span>
        {time}
        <span className={outcome.isBad ? 'bad' : undefined}>{outcome.text}</span>
      </header>
      {children}
    </article>
  )
}
