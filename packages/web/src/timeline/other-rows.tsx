/** Rows besides messages and calls: marks, errors, dividers, the start. */
import { memo, useState, useSyncExternalStore } from 'react'
import { TriangleAlert } from '../ui/icons.ts'
import { server } from '../api/server.ts'
import { contentText, listOf, membersOf, numberOf, textOf, timeOf } from '../log/read.ts'
import type { Row } from '../log/rows.ts'
import { Markdown } from '../text/markdown.tsx'
import { modelPathFrom } from '../routes.ts'
import { Output } from '../text/output.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useEvent, useView } from './context.ts'
import { clockOf, fullTimeOf } from './format.ts'
import { JsonTree } from './tools/json-tree.tsx'
import { StartRow } from './start-phases.tsx'
import './other-rows.css'

/** A row that is no message and no call, by its type. */
export function OtherRow({ row }: { row: Row }) {
  switch (row.type) {
    case 'mark':
      return <MarkRow row={row} />
    case 'error':
      return <ErrorRow row={row} />
    case 'start':
      return <StartRow row={row} />
    default:
      return <FoldedRow row={row} />
  }
}

/** A change of the conversation, as a line between rows. */
const MarkRow = memo(function MarkRow({ row }: { row: Row }) {
  const event = useEvent(row.seq)
  const at = timeOf(event?.timestamp)
  return (
    <div className="mark">
      <span>{event === undefined ? words.mark[row.name] : markText(row.name, event['value'])}</span>
      <time title={fullTimeOf(at)}>{clockOf(at)}</time>
    </div>
  )
})

function markText(name: string, value: unknown): string {
  const members = membersOf(value)
  if (name === 'approval') {
    const reason = textOf(members['reason'])
    return members['decision'] === 'accept' ? words.approved : words.rejected(reason)
  }
  if (name === 'confirmation_policy')
    return words.policyChanged(words.policy(textOf(members['kind']), textOf(members['threshold'])))
  if (name === 'model_retry')
    return words.retry(numberOf(members['wait_seconds']) ?? 0, textOf(members['detail']) || textOf(members['code']))
  if (name === 'agent') return words.agentChanged(textOf(membersOf(members['llm'])['model']))
  return words.mark[name] ?? name
}

/** True for a failure that another model or key removes. */
const lacksModel = (code: string): boolean => code === 'LLMNotConfigured' || code === 'LLMAuthenticationError'

/** A failure of the run, with what a person can do about it. */
const ErrorRow = memo(function ErrorRow({ row }: { row: Row }) {
  const event = useEvent(row.seq)
  const { conversation, canAct } = useView()
  const [problem, setProblem] = useState('')
  if (event === undefined) return <div className="error-row">{words.failed}</div>
  const kind = textOf(membersOf(event['classification'])['kind'])
  const again = () => {
    setProblem('')
    server.call('POST', conversation.path('/run'), { body: {} }).catch((error: Error) => setProblem(error.message))
  }
  return (
    <div className="error-row" role="group" aria-label={words.error}>
      <TriangleAlert size={16} aria-hidden />
      <div>
        <p className="title">{words.errorTitle[kind] ?? words.errorTitle['unknown']}</p>
        <p className="detail">{textOf(event['detail']) || textOf(event['error'])}</p>
        <p className="note">
          {textOf(event['code'])} {clockOf(timeOf(event.timestamp))}
        </p>
        {event.kind === 'ConversationErrorEvent' && canAct ? (
          <div className="actions">
            <button type="button" className="button" onClick={again}>
              {words.runAgain}
            </button>
            {lacksModel(textOf(event['code'])) ? (
              <ButtonLink href={modelPathFrom(conversation.id)}>{words.setModel}</ButtonLink>
            ) : null}
            {words.errorHint[kind] === undefined ? null : <span className="note">{words.errorHint[kind]}</span>}
          </div>
        ) : null}
        {problem === '' ? null : <p className="note problem">{problem}</p>}
      </div>
    </div>
  )
})

/** Rows that are folded to a line: the system prompt, a summary, a hook, an event of an unknown kind. */
const FoldedRow = memo(function FoldedRow({ row }: { row: Row }) {
  const event = useEvent(row.seq)
  const { rows } = useView()
  const isOpen = useSyncExternalStore(rows.subscribe, () => rows.isOpen(row.key))
  return (
    <div className={`folded ${row.type}`}>
      <button type="button" aria-expanded={isOpen} onClick={() => rows.set(row.key, !isOpen)}>
        {foldedTitle(row, event ?? {})}
      </button>
      {isOpen && event !== undefined ? <FoldedBody row={row} event={event} /> : null}
    </div>
  )
})

function foldedTitle(row: Row, event: Readonly<Record<string, unknown>>): string {
  if (row.type === 'prompt') return words.systemPrompt(listOf(event['tools']).length)
  if (row.type === 'condensation') return words.summarised(listOf(event['forgotten_event_ids']).length)
  if (row.type === 'hook')
    return event['blocked'] === true
      ? words.hookBlocked(textOf(event['hook_event_type']))
      : words.hookFailed(textOf(event['hook_event_type']))
  return words.unknownEvent(row.name)
}

function FoldedBody({ row, event }: { row: Row; event: Readonly<Record<string, unknown>> }) {
  if (row.type === 'condensation') return <Markdown text={textOf(event['summary']) || words.noSummary} />
  if (row.type === 'prompt')
    return (
      <>
        <pre className="prompt-text">{contentText([event['system_prompt']])}</pre>
        <JsonTree
          value={Object.fromEntries(
            listOf(event['tools'])
              .map(membersOf)
              .map((tool) => [textOf(tool['title']) || textOf(tool['kind']), textOf(tool['description'])]),
          )}
          label={words.tools}
        />
      </>
    )
  if (row.type === 'hook')
    return (
      <>
        <p className="note">{textOf(event['reason']) || textOf(event['error'])}</p>
        <Output
          text={[textOf(event['hook_command']), textOf(event['stdout']), textOf(event['stderr'])]
            .filter(Boolean)
            .join('\n')}
          label={words.hookOutput}
        />
      </>
    )
  return <JsonTree value={event} label={row.name} />
}
