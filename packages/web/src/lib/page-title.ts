/** The title of the tab and its icon, both with the number of approvals that wait. */
import { useEffect, useSyncExternalStore } from 'react'
import { en } from '../words/en.ts'

let page = ''
let waiting = 0
const listeners = new Set<() => void>()

/** Names the page in the tab while the component is mounted. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    page = title
    show()
  }, [title])
}

/** Shows the number of approvals in the tab. */
export function useWaitingCount(count: number): void {
  useEffect(() => {
    waiting = count
    show()
  }, [count])
}

/** The title of the present page, which names it for screen readers after a change of the page. */
export const useShownTitle = (): string => useSyncExternalStore(subscribe, () => page)

function show(): void {
  const name = page === '' || page === en.name ? en.name : `${page} · ${en.name}`
  document.title = waiting > 0 ? `(${waiting}) ${name}` : name
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  const href = iconWith(waiting)
  if (icon !== null && icon.href !== href) icon.href = href
  for (const listener of listeners) listener()
}

/** The icon as a data address; a dot stands for approvals, because digits are too small to read. */
function iconWith(count: number): string {
  const dot = count > 0 ? '<circle cx="25" cy="7" r="7" fill="#d97706"/>' : ''
  const bubble = '<path d="M4 6h24v16H14l-7 6v-6H4z" fill="#5b6cf0"/>'
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${bubble}${dot}</svg>`)}`
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
