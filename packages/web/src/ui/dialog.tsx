/** A modal dialog on the platform's own `<dialog>`: it holds the focus, closes with Escape and returns the focus. */
import { X } from './icons.ts'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { en } from '../words/en.ts'
import { Button } from './button.tsx'
import './dialog.css'
import { classNames } from './class-names.ts'

export type DialogProps = {
  readonly title: string
  readonly onClose: () => void
  /** `sheet` covers the height of the window at its left edge. */
  readonly form?: 'middle' | 'sheet'
  /** False: the dialog stays until its content closes it. */
  readonly canClose?: boolean
  readonly children: ReactNode
}

export function Dialog({ title, onClose, form = 'middle', canClose = true, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    if (dialog === null || dialog.open) return
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events -- Escape is the key for it.
    <dialog
      ref={ref}
      className={classNames('dialog', form === 'sheet' && 'dialog-sheet')}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (canClose) onClose()
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget && canClose) onClose()
      }}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={id}>{title}</h2>
          {canClose && (
            <Button look="quiet" size="small" label={en.close} onClick={onClose}>
              <X size={16} aria-hidden />
            </Button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}
