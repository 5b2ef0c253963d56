/** Says changes to screen readers. The timeline and other lists are not live themselves. */
import { useSyncExternalStore } from 'react'

type Urgency = 'polite' | 'assertive'

let texts: Readonly<Record<Urgency, string>> = { polite: '', assertive: '' }
const listeners = new Set<() => void>()

/** Says `text`; `assertive` is for errors and approvals alone. */
export function announce(text: string, urgency: Urgency = 'polite'): void {
  // A repeated sentence is said again only when the text of the element changes.
  const said = texts[urgency] === text ? `${text}\u00A0` : text
  texts = { ...texts, [urgency]: said }
  for (const listener of listeners) listener()
}

/** The elements that screen readers listen to; once per page. */
export function Announcer() {
  const { polite, assertive } = useSyncExternalStore(subscribe, () => texts)
  return (
    <div className="hidden-text">
      <div aria-live="polite" role="status">
        {polite}
      </div>
      <div aria-live="assertive" role="alert">
        {assertive}
      </div>
    </div>
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
