/** The question before a thing of the settings is deleted. */
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { secrets as words } from '../../words/secrets.en.ts'
import './items.css'

type RemoveProps = {
  readonly title: string
  readonly text: string
  /** Closes the dialog when it succeeds. */
  readonly remove: () => Promise<void>
  readonly onClose: () => void
}

export function RemoveDialog({ title, text, remove, onClose }: RemoveProps) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const confirm = async (): Promise<void> => {
    setBusy(true)
    await remove().catch((error: unknown) => {
      setProblem(messageOf(error))
      setBusy(false)
    })
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-form">
        <p>{text}</p>
        {problem !== '' && (
          <p className="dialog-problem" role="alert">
            {problem}
          </p>
        )}
        <div className="dialog-foot">
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button look="danger" disabled={isBusy} onClick={() => void confirm()}>
            {words.remove}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
