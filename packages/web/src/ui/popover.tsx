/** A panel beside its button on the platform's popover: it closes with Escape and with a click elsewhere. */
import { type ReactNode, useId, useRef } from 'react'
import './popover.css'
import { classNames } from './class-names.ts'

export type PopoverProps = {
  /** What the button shows. */
  readonly trigger: ReactNode
  /** Name of the panel. */
  readonly label: string
  /** Name of the button, when what it shows is no text. */
  readonly triggerLabel?: string
  readonly triggerClass: string
  readonly role?: 'menu' | 'dialog'
  /** Side of the button on which the panel opens. */
  readonly side?: 'below' | 'above'
  readonly className?: string
  /** Gets a function that closes the panel. */
  readonly children: (close: () => void) => ReactNode
}

export function Popover({
  trigger,
  label,
  triggerLabel,
  triggerClass,
  role = 'dialog',
  side = 'below',
  ...panel
}: PopoverProps) {
  const ref = useRef<HTMLDivElement>(null)
  // An anchor's name has no colon, as the ids of React may have.
  const id = `popover-${useId().replaceAll(/\W/g, '')}`
  const close = (): void => ref.current?.hidePopover()
  return (
    <>
      <button
        type="button"
        className={triggerClass}
        popoverTarget={id}
        aria-label={triggerLabel}
        title={triggerLabel}
        aria-haspopup={role}
        style={{ anchorName: `--${id}` }}
      >
        {trigger}
      </button>
      <div
        ref={ref}
        id={id}
        popover="auto"
        role={role}
        aria-label={label}
        className={classNames('popover', `popover-${side}`, panel.className)}
        style={{ positionAnchor: `--${id}` }}
        onToggle={(event) => {
          if (event.newState === 'open') ref.current?.querySelector<HTMLElement>('[role^=menuitem], button, a')?.focus()
        }}
      >
        {panel.children(close)}
      </div>
    </>
  )
}
