/** A tool call: one line of 36 px, which opens to the view of its tool. */
import { ChevronRight } from '../ui/icons.ts'
import { lazy, memo, Suspense, useSyncExternalStore } from 'react'
import { contentText, type LogEvent, textOf, timeOf } from '../log/read.ts'
import { reasoningOf } from '../log/entry.ts'
import type { Row } from '../log/rows.ts'
import { Markdown } from '../text/markdown.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { directoryOf, isAsked } from '../log/state.ts'
import { Risk } from '../approve/risk.tsx'
import { Visible } from '../approve/visible.tsx'
import { type Call, callOf } from './call.ts'
import { useConversationState, useEvent, useView } from './context.ts'
import { durationOf } from './format.ts'
import { MessageHead } from './message.tsx'
import { Reasoning } from './reasoning.tsx'
import { RowMenu } from './row-menu.tsx'
import { viewOf } from './tools/index.ts'
import './tool-row.css'

const OpenLong = lazy(async () => ({ default: (await import('./tools/terminal-body.tsx')).OpenLong }))

export const ToolRow = memo(function ToolRow({ row }: { row: Row }) {
  const event = useEvent(row.seq)
  const answer = useEvent(row.answer)
  if (event === undefined) return <ToolLine row={row} />
  const call = callOf(event, answer)
  if (call.kind === 'FinishAction') return <Finish event={event} text={textOf(call.action['message'])} row={row} />
  return (
    <>
      <Said event={event} />
      {call.kind === 'ThinkAction' ? (
        <div className="thought">
          <Markdown text={textOf(call.action['thought'])} />
        </div>
      ) : (
        <LoadedRow row={row} call={call} />
      )}
    </>
  )
})

/** What the agent wrote before its calls. */
function Said({ event }: { event: LogEvent }) {
  const text = contentText(event['thought'])
  const reasoning = reasoningOf(event)
  return (
    <>
      {reasoning === '' ? null : <Reasoning text={reasoning} />}
      {text === '' ? null : (
        <div className="said">
          <Markdown text={text} />
        </div>
      )}
    </>
  )
}

function Finish({ event, text, row }: { event: LogEvent; text: string; row: Row }) {
  return (
    <div className="message agent">
      <MessageHead from="agent" at={timeOf(event.timestamp)} sender="" />
      <Said event={event} />
      <Markdown text={text} />
      <RowMenu row={row} text={text} />
    </div>
  )
}

function LoadedRow({ row, call }: { row: Row; call: Call }) {
  const { conversation, rows } = useView()
  const { id } = call.event
  const isWriting = useSyncExternalStore(conversation.log.subscribe, () => conversation.log.output(id) !== undefined)
  const isOpen = useSyncExternalStore(rows.subscribe, () => rows.isOpen(row.key))
  const directory = useConversationState(directoryOf)
  const { icon: Icon, summary, Body } = viewOf(call)
  const { verb, object, isCode, facts } = summary(call)
  return (
    <div className={`tool ${call.status}`}>
      <button type="button" className="tool-line" aria-expanded={isOpen} onClick={() => rows.set(row.key, !isOpen)}>
        <Icon size={15} aria-hidden />
        <span className="verb">{verb}</span>
        <span className={isCode ? 'object code' : 'object'}>
          <Visible text={shortened(isCode ? object.replace(`${directory}/`, '') : object)} />
        </span>
        <span className="facts">
          {facts}
          <Risk risk={textOf(call.event['security_risk'])} isQuiet />
          <Outcome call={call} />
          <ChevronRight size={14} aria-hidden className="chevron" />
        </span>
      </button>
      {isWriting && !isOpen ? (
        <Suspense>
          <OpenLong rowKey={row.key} actionId={id} />
        </Suspense>
      ) : null}
      {isOpen ? (
        <div className="tool-body">
          {call.problem === '' ? null : (
            <p className={call.status === 'refused' ? 'note refusal' : 'note problem'}>
              {call.status === 'refused' ? words.refusedBecause(call.problem) : call.problem}
            </p>
          )}
          <Body call={call} />
        </div>
      ) : null}
    </div>
  )
}

/** The beginning of the first line: a row shows one line. */
const shortened = (text: string) => text.trim().split('\n', 1).join('').slice(0, 240)

function Outcome({ call }: { call: Call }) {
  const isWaiting = useConversationState((state) => call.status === 'running' && isAsked(state, call.event.id))
  if (isWaiting) return <span className="asks">{words.asksForApproval}</span>
  if (call.status === 'running')
    return (
      <span className="running">
        <span className="pulse" aria-hidden />
        <span className="hidden-text">{words.running}</span>
      </span>
    )
  if (call.status === 'refused') return <span className="bad">{words.refused}</span>
  return (
    <>
      {call.status === 'failed' && call.kind !== 'TerminalAction' ? <span className="bad">{words.failed}</span> : null}
      <span className="took">{durationOf(call.took)}</span>
    </>
  )
}

/** The line of a call whose event is not loaded yet. */
function ToolLine({ row }: { row: Row }) {
  const { conversation } = useView()
  const failure = conversation.bodies.failureOf(row.seq)
  return (
    <div className="tool unloaded">
      <div className="tool-line">
        <span className="dot" aria-hidden />
        <span className="verb">{row.name || words.toolCall}</span>
        {failure === undefined ? null : (
          <button type="button" className="text-button" onClick={() => conversation.bodies.retry(row.seq)}>
            {words.notLoaded(failure)}
          </button>
        )}
      </div>
    </div>
  )
}
