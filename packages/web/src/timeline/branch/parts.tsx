/** What the dialogs about branches have in common. */
import type { ReactNode } from 'react'
import { Button } from '../../ui/button.tsx'
import { tree as words } from '../../words/tree.en.ts'
import './branch.css'

type FormProps = {
  readonly problem: string
  readonly isBusy: boolean
  /** Name of the button that does it. */
  readonly submit: string
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly children: ReactNode
}

export function DialogForm({ problem, isBusy, submit, onSubmit, onClose, children }: FormProps) {
  return (
    <form
      className="branch-form"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {problem === '' ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="branch-buttons">
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button look="primary" type="submit" disabled={isBusy}>
          {isBusy ? words.working : submit}
        </Button>
      </div>
    </form>
  )
}
