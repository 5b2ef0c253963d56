/** What can be done with a row: copy, quote, fork here. */
import { Copy, GitFork, TextQuote } from '../ui/icons.ts'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { messageOf, server } from '../api/server.ts'
import { type LogEvent, membersOf, textOf } from '../log/read.ts'
import type { Row } from '../log/rows.ts'
import { conversationPath } from '../routes.ts'
import { copyText } from '../text/copy-button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import { useView } from './context.ts'

export function RowMenu({ event, text }: { row: Row; event: LogEvent; text: string }) {
  const { conversation, canAct, quote } = useView()
  const [, navigate] = useLocation()
  const [note, setNote] = useState('')
  const fork = async () => {
    try {
      const made = await server.call('POST', conversation.path('/fork'), { body: { from_event_id: event.id } })
      navigate(conversationPath(textOf(membersOf(made)['id'])))
    } catch (error) {
      setNote(messageOf(error))
    }
  }
  const copy = async () => setNote((await copyText(text)) ? words.copied : words.notCopied)
  return (
    <div className="row-menu" role="group" aria-label={words.rowActions}>
      <span role="status">{note}</span>
      <MenuButton label={words.copyText} keyName="y" onClick={() => void copy()} icon={Copy} />
      {canAct ? <MenuButton label={words.quote} keyName="q" onClick={() => quote(text)} icon={TextQuote} /> : null}
      {canAct ? <MenuButton label={words.forkHere} keyName="f" onClick={() => void fork()} icon={GitFork} /> : null}
    </div>
  )
}

type ButtonProps = { label: string; keyName: string; onClick: () => void; icon: typeof Copy }

function MenuButton({ label, keyName, onClick, icon: Icon }: ButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} data-key={keyName} onClick={onClick}>
      <Icon size={14} aria-hidden />
    </button>
  )
}
