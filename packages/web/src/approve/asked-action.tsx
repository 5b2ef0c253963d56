/** One action of a waiting batch, in full. */
import { Loader } from '../ui/icons.ts'
import { textOf } from '../log/read.ts'
import { Markdown } from '../text/markdown.tsx'
import { CopyButton } from '../text/copy-button.tsx'
import { Counts, Diff } from '../text/diff.tsx'
import { callOf } from '../timeline/call.ts'
import { changeOf } from '../timeline/tools/change.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { type AskedAction, exactText } from './request.ts'
import { Risk } from './risk.tsx'
import { HiddenCharacters, Visible } from './visible.tsx'

export function AskedActionView({ asked }: { asked: AskedAction }) {
  return (
    <section className="asked" aria-label={dockWords.askedAction(asked.tool)}>
      <header>
        <Risk risk={asked.risk} />
        <span className="tool-name">
          <Visible text={asked.tool} />
        </span>
        {asked.summary === '' ? null : <span className="summary">{asked.summary}</span>}
      </header>
      {asked.action === null ? (
        <p className="note">
          <Loader size={14} aria-hidden /> {dockWords.loadingAction}
        </p>
      ) : (
        <Exact asked={asked} action={asked.action} />
      )}
      {asked.reasons.map((reason, index) => (
        <p key={index} className="reason">
          <strong>{reason.analyzer}</strong>: {reason.text}
          {reason.rule === '' ? null : <span className="note"> {reason.rule}</span>}
        </p>
      ))}
      {asked.thought === '' ? null : (
        <div className="why">
          <Markdown text={asked.thought} />
        </div>
      )}
    </section>
  )
}

function Exact({ asked, action }: { asked: AskedAction; action: NonNullable<AskedAction['action']> }) {
  const change = changeOf(callOf({ kind: 'ActionEvent', id: asked.id, timestamp: '', action }, undefined))
  const path = textOf(action['path']) || textOf(action['file_path'])
  if (change !== null)
    return (
      <>
        <p className="path">
          <code>
            <Visible text={path} />
          </code>{' '}
          <Counts difference={change} />
        </p>
        <Diff difference={change} path={path} isWhole />
      </>
    )
  const text = exactText(action)
  return (
    <>
      <div className="exact">
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls is reached with the keyboard */}
        <pre tabIndex={0} role="region" aria-label={dockWords.exactText}>
          <Visible text={text} spans={asked.reasons.flatMap(({ spans }) => spans)} />
        </pre>
        <CopyButton text={text} label={words.copyCommand} />
      </div>
      <HiddenCharacters text={text} />
    </>
  )
}
