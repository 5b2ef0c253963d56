/** The start of a conversation: its phases, each with its state. */
import { CircleCheck, CircleDot, CircleX } from '../ui/icons.ts'
import { type ReactNode, useState, useSyncExternalStore } from 'react'
import { server } from '../api/server.ts'
import { membersOf, textOf, timeOf } from '../log/read.ts'
import type { EventLog } from '../log/event-log.ts'
import type { Row } from '../log/rows.ts'
import { retryPath } from '../routes.ts'
import { ButtonLink } from '../ui/button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useView } from './context.ts'
import { durationOf } from './format.ts'

type Phase = {
  name: string
  status: string
  code: string
  detail: string
  /** Milliseconds since 1970. */
  from: number | null
  to: number | null
}

/** The phases between two events of the log, each with its newest state. */
function phasesOf(log: EventLog, first: number, last: number): readonly Phase[] {
  const phases = new Map<string, Phase>()
  for (let seq = first; seq <= last; seq++) {
    const event = log.event(seq)
    if (event?.['key'] !== 'start_phase') continue
    const value = membersOf(event['value'])
    const [name, status, at] = [textOf(value['phase']), textOf(value['status']), timeOf(event.timestamp)]
    const from = status === 'started' ? at : (phases.get(name)?.from ?? at)
    const to = status === 'started' ? null : at
    phases.set(name, { name, status, code: textOf(value['code']), detail: textOf(value['detail']), from, to })
  }
  return [...phases.values()]
}

const ICONS = { done: CircleCheck, failed: CircleX, started: CircleDot } as const

export function StartRow({ row }: { row: Row }) {
  const { conversation, canAct, rows } = useView()
  const { log } = conversation
  useSyncExternalStore(log.subscribe, log.version)
  const phases = phasesOf(log, row.seq, row.answer || row.seq)
  const failed = phases.find(({ status }) => status === 'failed')
  const isBusy = phases.some(({ status }) => status === 'started')
  const isOpen = useSyncExternalStore(rows.subscribe, () => rows.isOpen(row.key, failed !== undefined || isBusy))
  const [first, last] = [phases[0]?.from ?? null, phases.at(-1)?.to ?? null]
  return (
    <div className="start">
      <button type="button" aria-expanded={isOpen} onClick={() => rows.set(row.key, !isOpen)}>
        {failed !== undefined ? words.startFailed : isBusy ? words.starting : words.started}
        <span className="took">{first === null || last === null ? '' : durationOf(last - first)}</span>
      </button>
      {isOpen ? (
        <ol>
          {phases.map((phase) => (
            <PhaseLine key={phase.name} phase={phase} />
          ))}
        </ol>
      ) : null}
      {failed !== undefined && canAct ? (
        <TryAgain path={conversation.path('/start')}>
          {failed.code.startsWith('GIT$') ? (
            <ButtonLink href={retryPath(conversation.id)}>{words.changeRepository}</ButtonLink>
          ) : null}
        </TryAgain>
      ) : null}
    </div>
  )
}

function PhaseLine({ phase }: { phase: Phase }) {
  const Icon = phase.status in ICONS ? ICONS[phase.status as keyof typeof ICONS] : CircleDot
  return (
    <li className={phase.status}>
      <Icon size={14} aria-label={words.phaseStatus[phase.status] ?? phase.status} />
      <span>{words.phase(phase.name)}</span>
      {phase.code === '' ? null : <span className="code">{phase.code}</span>}
      {/* The error row below has the reason of a failure. */}
      {phase.detail === '' || phase.status === 'failed' ? null : <span className="detail">{phase.detail}</span>}
      <span className="took">{phase.from === null || phase.to === null ? '' : durationOf(phase.to - phase.from)}</span>
    </li>
  )
}

function TryAgain({ path, children }: { path: string; children: ReactNode }) {
  const [problem, setProblem] = useState('')
  return (
    <div className="actions">
      <button
        type="button"
        className="button"
        onClick={() => void server.call('POST', path, { body: {} }).catch((error: Error) => setProblem(error.message))}
      >
        {words.tryAgain}
      </button>
      {children}
      {problem === '' ? null : <span className="note problem">{problem}</span>}
    </div>
  )
}
