/** Which tab of the panel is open. The address has it, as `?panel=changes`. */
import { useLocation, useSearch } from 'wouter'
import { type Tab, TABS } from './tabs.ts'

const STORED = 'parley.panel'

/** The open tab, or null; and the function that opens another one, or closes the panel. Opening a closed panel is a step in the history. */
export function usePanel(): [open: Tab | null, change: (name: string | null) => void] {
  const [path, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  const open = TABS.find(({ name }) => name === search.get('panel')) ?? null
  const change = (name: string | null): void => {
    if (name === null) search.delete('panel')
    else search.set('panel', name)
    if (name !== null) keepTab(name)
    navigate(search.size === 0 ? path : `${path}?${search.toString()}`, { replace: open !== null })
  }
  return [open, change]
}

/** The tab that was open last, otherwise the first one. */
export function lastTab(): string {
  const [first] = TABS
  try {
    const stored = localStorage.getItem(STORED)
    return TABS.find(({ name }) => name === stored)?.name ?? first!.name
  } catch {
    return first!.name
  }
}

function keepTab(name: string): void {
  try {
    localStorage.setItem(STORED, name)
  } catch {
    // A browser may refuse to store; the first tab then opens.
  }
}
