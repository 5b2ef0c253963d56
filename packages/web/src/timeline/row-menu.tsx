/** What can be done with a row: copy, quote, go back or fork here, and send a message of the person again. */
import { Copy, GitFork, SquarePen, TextQuote, Undo } from '../ui/icons.ts'
import { lazy, Suspense, useState } from 'react'
import type { Row } from '../log/rows.ts'
import { copyText } from '../text/copy-button.tsx'
import { conversation as words } from '../words/conversation.en.ts'
import type { BranchAction } from './branch/index.tsx'
import { useView } from './context.ts'

const BranchDialog = lazy(async () => ({ default: (await import('./branch/index.tsx')).BranchDialog }))

export function RowMenu({ row, text }: { row: Row; text: string }) {
  const { canAct, quote } = useView()
  const [note, setNote] = useState('')
  const [asked, setAsked] = useState<BranchAction | null>(null)
  const copy = async () => setNote((await copyText(text)) ? words.copied : words.notCopied)
  const isOwn = row.type === 'message' && row.from === 'user'
  return (
    <div className="row-menu" role="group" aria-label={words.rowActions}>
      <span role="status">{note}</span>
      <MenuButton label={words.copyText} keyName="y" onClick={() => void copy()} icon={Copy} />
      {canAct ? (
        <>
          <MenuButton label={words.quote} keyName="q" onClick={() => quote(text)} icon={TextQuote} />
          {isOwn ? (
            <MenuButton label={words.sendAgain} keyName="r" onClick={() => setAsked('edit')} icon={SquarePen} />
          ) : null}
          <MenuButton label={words.goBackHere} keyName="b" onClick={() => setAsked('back')} icon={Undo} />
          <MenuButton label={words.forkHere} keyName="f" onClick={() => setAsked('fork')} icon={GitFork} />
        </>
      ) : null}
      {asked === null ? null : (
        <Suspense>
          <BranchDialog action={asked} seq={row.answer || row.seq} onClose={() => setAsked(null)} />
        </Suspense>
      )}
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
