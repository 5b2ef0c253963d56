/** A menu of commands or of choices, with the arrow keys. */
import { Check } from './icons.ts'
import type { KeyboardEvent, ReactNode } from 'react'
import './menu.css'
import { Popover } from './popover.tsx'

export type MenuItem = {
  readonly label: string
  readonly run: () => void
  readonly icon?: ReactNode
  /** Set: the item is one of several choices. */
  readonly isChosen?: boolean
  /** Keys that do the same. */
  readonly hint?: string
}

export type MenuProps = {
  readonly trigger: ReactNode
  readonly label: string
  readonly triggerLabel?: string
  readonly triggerClass: string
  readonly side?: 'below' | 'above'
  /** Groups of items, divided by a line; a group may have a title. */
  readonly groups: readonly { readonly title?: string; readonly items: readonly MenuItem[] }[]
}

export function Menu({ groups, ...popover }: MenuProps) {
  return (
    <Popover {...popover} role="menu">
      {(close) => (
        // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the keys of the items bubble to it
        <div onKeyDown={moveFocus}>
          {groups.map(({ title, items }, index) => (
            <div key={title ?? index} className="menu-group" role="group" aria-label={title}>
              {title !== undefined && (
                <div className="menu-title" aria-hidden>
                  {title}
                </div>
              )}
              {items.map((item) => (
                <Item key={item.label} item={item} close={close} />
              ))}
            </div>
          ))}
        </div>
      )}
    </Popover>
  )
}

function Item({ item, close }: { item: MenuItem; close: () => void }) {
  const isChoice = item.isChosen !== undefined
  return (
    <button
      type="button"
      className="menu-item"
      role={isChoice ? 'menuitemradio' : 'menuitem'}
      aria-checked={isChoice ? item.isChosen : undefined}
      tabIndex={-1}
      onClick={() => {
        close()
        item.run()
      }}
    >
      {item.icon}
      <span className="menu-label">{item.label}</span>
      {item.hint !== undefined && <kbd>{item.hint}</kbd>}
      {item.isChosen === true && <Check size={14} aria-hidden />}
    </button>
  )
}

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = STEPS[event.key]
  if (step === undefined) return
  event.preventDefault()
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]')]
  items[step(items.indexOf(document.activeElement as HTMLElement), items.length)]?.focus()
}
