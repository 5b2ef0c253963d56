/** Tabs: one panel at a time, chosen with the arrow keys or the pointer. */
import { type KeyboardEvent, type ReactNode, useId } from 'react'
import './tabs.css'

export type Tab<Id extends string> = { readonly id: Id; readonly label: ReactNode }

export type TabsProps<Id extends string> = {
  /** Name of the row of tabs. */
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly chosen: Id
  readonly onChoose: (id: Id) => void
  readonly children: ReactNode
}

export function Tabs<Id extends string>({ label, tabs, chosen, onChoose, children }: TabsProps<Id>) {
  const base = useId()
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = tabs.findIndex(({ id }) => id === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]!
    onChoose(next.id)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus()
  }
  return (
    <>
      <div role="tablist" aria-label={label} className="tabs" onKeyDown={onKeyDown} tabIndex={-1}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${base}${tab.id}`}
            data-tab={tab.id}
            className="tab"
            aria-selected={tab.id === chosen}
            aria-controls={`${base}panel`}
            tabIndex={tab.id === chosen ? 0 : -1}
            onClick={() => onChoose(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}panel`} aria-labelledby={`${base}${chosen}`} className="tab-panel">
        {children}
      </div>
    </>
  )
}
